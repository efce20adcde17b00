import { posix } from "node:path";
import type { LayeredFolder, SnapshotFolders } from "../files/archive.ts";
import { programsPath } from "../files/programs.ts";
import type { InitConnection } from "../init/init-connection.ts";
import { proxyEnvironment } from "../network/proxy.ts";
import { defaultPath, sandboxPaths } from "../paths.ts";
import { baseEnvironment, homeFolders } from "./base-environment.ts";
import {
  type CommandContext,
  type CommandSystem,
  defaultShell,
  type ProcessKind,
  type UserOptions,
} from "./command-system.ts";
import { findUser, type ImageUser, prepareUser } from "./image-user.ts";

const rootHome = "/root";

/** Git's system configuration in a sandbox with an image, and the file next to it for repositories with a push URL. */
export const imageGitConfigPath = "/opt/outrider/gitconfig";

/** Git reads only one system file, so that of the sandbox includes the image's own. */
export const includeImageGitConfig = (content: string) => `${content}[include]\n\tpath = /etc/gitconfig\n`;

interface ImageCommandsOptions {
  /** A name, or `uid[:gid]`. */
  user: string;
  /** The environment variables of the image. */
  env: Record<string, string>;
  mayLackShell: boolean;
  hasNetwork: boolean;
  /** Whether processes can have other ids than root's. */
  hasUserIds: boolean;
  /** Returns where scripts see a folder of the image. */
  layeredFolder(path: string): LayeredFolder;
  /** Whether snapshots can contain a folder outside of the workspace. */
  canStore?(home: string): boolean;
}

/** The commands of a sandbox with an image. The image's own files describe its users, so they are known once init runs. */
export class ImageCommands implements CommandSystem {
  #options: ImageCommandsOptions;
  #user: ImageUser | undefined;

  constructor(options: ImageCommandsOptions) {
    this.#options = options;
  }

  get shell(): string {
    return this.#user?.shell ?? defaultShell;
  }

  get commandEnvironment(): Record<string, string> {
    return { PATH: this.#path({ homeFirst: true }), PIP_BREAK_SYSTEM_PACKAGES: "1" };
  }

  get serviceEnvironment(): Record<string, string> {
    return { PATH: this.#path({ homeFirst: false }), PIP_BREAK_SYSTEM_PACKAGES: "1" };
  }

  get snapshotFolders(): SnapshotFolders {
    const { workspace } = sandboxPaths;
    const { layeredFolder, canStore } = this.#options;
    if (!this.#user) throw new Error("The sandbox's user is not known yet.");
    const home = posix.normalize(this.#user.home);
    const isStored = !`${home}/`.startsWith(`${workspace}/`) && (canStore?.(home) ?? true);
    return {
      workspace: layeredFolder(workspace),
      home: isStored ? layeredFolder(home) : undefined,
      hasOwners: true,
    };
  }

  #path({ homeFirst }: { homeFirst: boolean }): string {
    const image = this.#options.env.PATH ?? defaultPath;
    return [...(homeFirst ? homeFolders : []), image, programsPath, ...(homeFirst ? [] : homeFolders)].join(
      ":",
    );
  }

  async onConnected(connection: InitConnection): Promise<void> {
    const { user, mayLackShell } = this.#options;
    this.#user = await prepareUser(connection, { user, mayLackShell, isAgain: this.#user !== undefined });
  }

  configureImage(config: { env: Record<string, string>; user: string }): void {
    this.#options = { ...this.#options, ...config, mayLackShell: false };
    this.#user = undefined;
  }

  async describeCommandOf(name: string, connection: InitConnection): Promise<CommandContext> {
    const user = await findUser(connection, name);
    return { shell: user.shell, env: this.#environment(user, name), ...this.#idsOf(user) };
  }

  describeCommand(kind: ProcessKind, { asRoot = false }: UserOptions): CommandContext {
    const user = this.#user;
    const ids = asRoot || user === undefined ? {} : this.#idsOf(user);
    if (kind === "scripts") return { shell: defaultShell, env: baseEnvironment, ...ids };
    if (!user) throw new Error("The sandbox's user is not known yet.");
    const isRoot = asRoot || user.uid === 0;
    const env = this.#environment(
      { ...user, ...(asRoot ? { home: rootHome } : {}) },
      isRoot ? "root" : this.#options.user,
    );
    return { shell: user.shell, env, ...ids };
  }

  /** With only one id, everything is root already, and the kernel forbids even to drop groups. */
  #idsOf(user: ImageUser): Pick<CommandContext, "user"> {
    return this.#options.hasUserIds ? { user } : {};
  }

  #environment({ home, shell }: ImageUser, user: string): Record<string, string> {
    const name = user.split(":")[0] as string;
    return {
      ...{ PATH: defaultPath, LANG: "C.UTF-8", TERM: "dumb" },
      ...this.#options.env,
      ...{ HOME: home, USER: name, LOGNAME: name, SHELL: shell },
      GIT_CONFIG_SYSTEM: imageGitConfigPath,
      ...(this.#options.hasNetwork ? proxyEnvironment : {}),
    };
  }
}
