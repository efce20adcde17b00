import type { SnapshotFolders } from "../files/archive.ts";
import { npmConfigPath } from "../files/etc-files.ts";
import { programsPath } from "../files/programs.ts";
import { layerPaths } from "../files/script-paths.ts";
import { proxyEnvironment } from "../network/proxy.ts";
import { defaultPath, sandboxPaths } from "../paths.ts";
import type { SandboxImage } from "../sandbox.ts";
import { baseEnvironment, homeFolders } from "../systems/base-environment.ts";
import {
  type CommandContext,
  type CommandSystem,
  defaultShell,
  type ProcessKind,
} from "../systems/command-system.ts";
import { ImageCommands } from "../systems/image-commands.ts";

const { workspace, home } = sandboxPaths;

/** Scripts see the volumes at the same paths with and without an image. */
const folders = {
  workspace: {
    ...{ merged: workspace, upper: `${layerPaths.upper}/workspace`, lower: `${layerPaths.lower}/workspace` },
  },
  home: { merged: home, upper: `${layerPaths.upper}/home`, lower: `${layerPaths.lower}/home` },
};

/** The default system of an engine's sandboxes. All processes run as the same unprivileged user. */
export class DefaultSystem implements CommandSystem {
  readonly shell = defaultShell;
  readonly snapshotFolders: SnapshotFolders = { ...folders, hasOwners: false };
  readonly commandEnvironment = environment([...homeFolders, defaultPath, programsPath]);
  readonly serviceEnvironment = environment([defaultPath, programsPath, ...homeFolders]);
  readonly #env: Record<string, string>;

  constructor({ hasNetwork }: { hasNetwork: boolean }) {
    this.#env = hasNetwork ? proxyEnvironment : {};
  }

  async onConnected(): Promise<void> {}

  describeCommand(kind: ProcessKind): CommandContext {
    const env = kind === "commands" ? { ...baseEnvironment, ...this.#env } : baseEnvironment;
    return { shell: this.shell, env };
  }

  async describeCommandOf(): Promise<CommandContext> {
    return this.describeCommand("commands");
  }

  configureImage(): never {
    throw new Error("The sandbox has no image.");
  }
}

function environment(paths: string[]): Record<string, string> {
  return {
    PATH: paths.join(":"),
    NPM_CONFIG_GLOBALCONFIG: npmConfigPath,
    PIP_BREAK_SYSTEM_PACKAGES: "1",
  };
}

/** `homes`: the folders outside of the workspace that are volumes. */
export function createImageSystem(
  image: SandboxImage,
  { hasNetwork, homes }: { hasNetwork: boolean; homes: ReadonlySet<string> },
): ImageCommands {
  return new ImageCommands({
    user: image.user,
    env: image.env,
    mayLackShell: image.mayLackShell ?? false,
    hasNetwork,
    hasUserIds: true,
    layeredFolder: (path) => (path === workspace ? folders.workspace : folders.home),
    canStore: (path) => homes.has(path),
  });
}
