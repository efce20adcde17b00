import type { SnapshotFolders } from "../../files/archive.ts";
import { layerPaths, scriptStatePath } from "../../files/script-paths.ts";
import { sandboxPaths } from "../../paths.ts";
import { baseEnvironment } from "../../systems/base-environment.ts";
import { type CommandContext, defaultShell, type ProcessKind } from "../../systems/command-system.ts";
import { type BwrapOptions, bwrapArgs, type SandboxFolders } from "../bubblewrap.ts";
import { commandEnvironment, serviceEnvironment } from "../command-environment.ts";
import { scriptStateFolder } from "../files/folders.ts";
import type { Overlay } from "../files/layers.ts";
import type { UnixAccount } from "../unix-account.ts";
import type { System, SystemProcess } from "./system.ts";

interface HostSystemOptions {
  account: UnixAccount | undefined;
  bwrap: BwrapOptions;
  /** Added to the mounts of the worker's own scripts. */
  scriptMounts: BwrapOptions["mounts"];
  /** Environment variables of every command. */
  env: Record<string, string>;
  /** Opens the files of /etc for one bubblewrap process. */
  openEtc(): number[];
}

const snapshotFolder = (merged: string, layer: string) => ({
  ...{ merged, upper: `${layerPaths.upper}/${layer}`, lower: `${layerPaths.lower}/${layer}` },
});

/** The worker's own system, read-only. All processes run as the same unprivileged user. */
export class HostSystem implements System {
  readonly userNamespace = undefined;
  readonly preparesFolders = false;
  readonly shell = defaultShell;
  readonly commandEnvironment = commandEnvironment;
  readonly serviceEnvironment = serviceEnvironment;
  readonly snapshotFolders: SnapshotFolders = {
    workspace: snapshotFolder(sandboxPaths.workspace, "workspace"),
    home: snapshotFolder(sandboxPaths.home, "home"),
    hasOwners: false,
  };
  readonly #options: HostSystemOptions;

  constructor(options: HostSystemOptions) {
    this.#options = options;
  }

  get account(): UnixAccount | undefined {
    return this.#options.account;
  }

  describeProcess(kind: ProcessKind): SystemProcess {
    const { bwrap, scriptMounts, openEtc } = this.#options;
    const mounts = kind === "commands" ? bwrap.mounts : [...bwrap.mounts, ...scriptMounts];
    return { bwrapArgs: bwrapArgs({ ...bwrap, mounts }), copied: openEtc() };
  }

  async onConnected(): Promise<void> {}

  describeCommand(kind: ProcessKind): CommandContext {
    const env = kind === "commands" ? { ...baseEnvironment, ...this.#options.env } : baseEnvironment;
    return { shell: this.shell, env };
  }

  async describeCommandOf(): Promise<CommandContext> {
    return this.describeCommand("commands");
  }

  configureImage(): never {
    throw new Error("The sandbox has no image.");
  }
}

/** Returns the mounts that the worker's own scripts have in addition to those of commands. */
export function scriptMounts(folders: SandboxFolders, overlay: Overlay | undefined): BwrapOptions["mounts"] {
  const state = { source: scriptStateFolder(folders), target: scriptStatePath, writable: true };
  if (!overlay) return [state];
  const { upper, lower } = overlay;
  return [state, { source: upper, target: layerPaths.upper }, { source: lower, target: layerPaths.lower }];
}
