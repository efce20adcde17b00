import type { LayeredFolder, SnapshotFolders } from "../files/archive.ts";
import { npmConfigPath } from "../files/etc-files.ts";
import { programsPath } from "../files/programs.ts";
import { layerPaths } from "../files/script-paths.ts";
import type { StartOptions } from "../init/init-connection.ts";
import { proxyEnvironment } from "../network/proxy.ts";
import { defaultPath, sandboxPaths } from "../paths.ts";
import type { SandboxImage } from "../sandbox.ts";
import { baseEnvironment, homeFolders } from "./base-environment.ts";
import { type CommandContext, type CommandSystem, defaultShell, type ProcessKind } from "./command-system.ts";
import { ImageCommands } from "./image-commands.ts";

const { workspace, home } = sandboxPaths;

/** Scripts see the volumes at the same paths with and without an image. */
const containerFolders = {
  workspace: {
    ...{ merged: workspace, upper: `${layerPaths.upper}/workspace`, lower: `${layerPaths.lower}/workspace` },
  },
  home: { merged: home, upper: `${layerPaths.upper}/home`, lower: `${layerPaths.lower}/home` },
};

/** The folders of sandboxes, as scripts see them. */
export type ContainerFolders = Record<"workspace" | "home", LayeredFolder>;

/** The default system of containers. All processes run as the same unprivileged user. */
export class DefaultSystem implements CommandSystem {
  readonly shell = defaultShell;
  readonly snapshotFolders: SnapshotFolders;
  readonly commandEnvironment = environment([...homeFolders, defaultPath, programsPath]);
  readonly serviceEnvironment = environment([defaultPath, programsPath, ...homeFolders]);
  readonly #env: Record<string, string>;
  readonly #user: StartOptions["user"];

  /** `user`: the one to which init changes. Default: init runs as the user of commands. */
  constructor({
    hasNetwork,
    user,
    folders = containerFolders,
  }: {
    hasNetwork: boolean;
    user?: StartOptions["user"];
    folders?: ContainerFolders;
  }) {
    this.#env = hasNetwork ? proxyEnvironment : {};
    this.#user = user;
    this.snapshotFolders = { ...folders, hasOwners: false };
  }

  async onConnected(): Promise<void> {}

  describeCommand(kind: ProcessKind): CommandContext {
    const env = kind === "commands" ? { ...baseEnvironment, ...this.#env } : baseEnvironment;
    return { shell: this.shell, env, user: this.#user };
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
  {
    hasNetwork,
    homes,
    folders = containerFolders,
  }: { hasNetwork: boolean; homes: ReadonlySet<string>; folders?: ContainerFolders },
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
