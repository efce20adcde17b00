import type { SnapshotFolders } from "../files/archive.ts";
import type { InitConnection, StartOptions } from "../init/init-connection.ts";
import { SandboxImageError } from "../sandbox.ts";

/** A sandbox has two groups of processes: one for commands, one for the worker's own scripts. */
export type ProcessKind = "commands" | "scripts";

export interface UserOptions {
  /** Whether the command runs as the root of the image. Without an image, there is only one user. */
  asRoot?: boolean | undefined;
  /** Another user of the image than the sandbox's. */
  user?: string | undefined;
}

/** What the commands of a sandbox find in the system that they see: their user, shell, environment and folders. */
export interface CommandSystem {
  /** Environment variables for the commands of agents and builds, and for MCP servers. */
  readonly commandEnvironment: Record<string, string>;
  readonly serviceEnvironment: Record<string, string>;
  /** The shell that runs commands. Known after the processes for commands are connected. */
  readonly shell: string;
  /** What snapshots contain. With an image, it is known once the processes for commands are connected. */
  readonly snapshotFolders: SnapshotFolders;
  /** Called when the processes for commands are connected, before the first command. */
  onConnected(connection: InitConnection): Promise<void>;
  /** Describes who runs a command, and the shell that can run it. */
  describeCommand(kind: ProcessKind, options: UserOptions): CommandContext;
  /** The same for another user, whom the connection looks up. */
  describeCommandOf(user: string, connection: InitConnection): Promise<CommandContext>;
  /** Replaces the variables and the user of the image. No process may be running. */
  configureImage(config: { env: Record<string, string>; user: string }): void;
}

export interface CommandContext extends Pick<StartOptions, "env" | "user"> {
  shell: string;
}

/** The shell of the worker's own system and of its scripts. */
export const defaultShell = "/bin/bash";

/** Linux's MAX_ARG_STRLEN. */
const maxArgumentBytes = 128 * 2 ** 10;

/** --norc: bash must not run ~/.bashrc, which an earlier command could have written. */
export function shellArgs(shell: string, command: string): string[] {
  if (shell === "") throw new SandboxImageError("The image has no shell, which this command needs.");
  if (Buffer.byteLength(command) >= maxArgumentBytes)
    throw new Error("The command is longer than 128 KiB, the maximum on Linux. Run it from a file.");
  return [shell, ...(shell.endsWith("bash") ? ["--norc"] : []), "-c", command];
}
