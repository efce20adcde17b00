/**
 * The system of an image. Its processes run in a user namespace of their own, in which they can be root: commands as the
 * environment's user, setup commands as root. Outside, all of their ids are unprivileged.
 *
 * - `commands` sees the image as its root folder, with the capabilities that containers usually have.
 * - `scripts` sees the worker's own programs, because those of the image are hostile and may be missing. The image's files
 *   are at /.outrider/root, and /workspace and /home/sandbox are links to them. So a hostile link leads to a file that the
 *   scripts see anyway, never to the host.
 */
import { posix } from "node:path";
import { type IdNamespace, rootArgs } from "../../../id-namespace.ts";
import { firstBytes } from "../../first-bytes.ts";
import type { InitConnection } from "../../init/init-connection.ts";
import { defaultPath, sandboxPaths } from "../../paths.ts";
import { SandboxImageError } from "../../sandbox.ts";
import { baseEnvironment } from "../bubblewrap.ts";
import { homeFolders } from "../command-environment.ts";
import type { SnapshotFolders } from "../files/archive.ts";
import { openAll } from "../files/etc.ts";
import type { ImageMount } from "../files/layers.ts";
import { programsPath, sandboxFilesPath } from "../files/programs.ts";
import { imageRootPath, layerPaths } from "../files/script-paths.ts";
import type { Mount } from "../mount.ts";
import { proxyEnvironment } from "../network/proxy.ts";
import type { UnixAccount } from "../unix-account.ts";
import { imageBwrapArgs, imageScriptBwrapArgs } from "./image-bwrap-args.ts";
import type { ImageMounts } from "./mount-image.ts";
import {
  type CommandContext,
  defaultShell,
  type ImageEntry,
  type ProcessKind,
  type System,
  type SystemProcess,
  type UserOptions,
} from "./system.ts";
import { idCount } from "./uid-ranges.ts";

const noShell =
  "The image has neither bash nor /bin/sh, one of which runs commands: use an image that has a shell.";
const notFoundCode = 44;
const notMappedCode = 46;
const maxUserBytes = 16 * 1024;
const rootHome = "/root";
const mountpoints = [
  "proc",
  "dev",
  "opt/outrider/bin",
  "file:etc/hosts",
  "file:etc/outrider-connect",
  "file:opt/outrider/gitconfig",
  "file:opt/outrider/gitconfig-push",
];

interface ImageUser {
  uid: number;
  gid: number;
  groups: number[];
  home: string;
  shell: string;
}

interface ImageSystemOptions {
  account: UnixAccount;
  mounts: ImageMounts;
  /** A name, or `uid[:gid]`. */
  user: string;
  /** The environment variables of the image. */
  env: Record<string, string>;
  mayLackShell: boolean;
  hasNetwork: boolean;
  programs: Mount;
  /** Mounts of files of the host. */
  hostMounts: ImageMount[];
  /** The worker's user namespace, if the worker does not run as root. */
  ids: IdNamespace | undefined;
  /** The host files with the content of these files. */
  files: { hosts: string; connect: string; gitconfig: string; gitconfigPush: string };
  /** The arguments and files of /etc for scripts. */
  etcArgs: string[];
  openEtc(): number[];
}

export class ImageSystem implements System {
  readonly preparesFolders = true;
  #options: ImageSystemOptions;
  #user: ImageUser | undefined;

  constructor(options: ImageSystemOptions) {
    this.#options = options;
  }

  get account(): UnixAccount {
    return this.#options.account;
  }

  get userNamespace(): number {
    return this.#options.mounts.user;
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
    if (!this.#user) throw new Error("The sandbox's user is not known yet.");
    const home = posix.normalize(this.#user.home);
    const folder = (path: string) => ({
      ...{ merged: imageRootPath + path, upper: layerPaths.upper + path, lower: layerPaths.lower + path },
    });
    const isInWorkspace = `${home}/`.startsWith(`${workspace}/`);
    return { workspace: folder(workspace), home: isInWorkspace ? undefined : folder(home), hasOwners: true };
  }

  #path({ homeFirst }: { homeFirst: boolean }): string {
    const image = this.#options.env.PATH ?? defaultPath;
    return [...(homeFirst ? homeFolders : []), image, programsPath, ...(homeFirst ? [] : homeFolders)].join(
      ":",
    );
  }

  describeProcess(kind: ProcessKind): SystemProcess {
    const { mounts, programs, hostMounts, files, etcArgs, openEtc } = this.#options;
    if (kind === "scripts") {
      const args = imageScriptBwrapArgs({ mounts, etcArgs, scriptMounts: [programs, ...hostMounts] });
      const image = { root: mounts.merged, mountpoints: [], ...this.#rootArgs };
      return { bwrapArgs: args, copied: openEtc(), image };
    }
    return {
      bwrapArgs: imageBwrapArgs({ root: mounts.merged, mounts: [programs, ...hostMounts] }),
      copied: openAll([files.hosts, files.connect, files.gitconfig, files.gitconfigPush]),
      image: {
        root: mounts.merged,
        mountpoints: [...mountpoints, ...hostMounts.map(mountpointOf)],
        ...this.#rootArgs,
      },
    };
  }

  get #rootArgs(): Pick<ImageEntry, "rootArgs"> {
    const { ids } = this.#options;
    return ids ? { rootArgs: rootArgs(ids) } : {};
  }

  async onConnected(connection: InitConnection): Promise<void> {
    const { user, mayLackShell } = this.#options;
    const { workspace, home } = sandboxPaths;
    const found = await findUser(connection, [
      ...["prepare", workspace, home, user],
      ...(this.#user ? ["again"] : []),
    ]);
    if (found.shell === "" && !mayLackShell) throw new SandboxImageError(noShell);
    this.#user = found;
  }

  configureImage(config: { env: Record<string, string>; user: string }): void {
    this.#options = { ...this.#options, ...config, mayLackShell: false };
    this.#user = undefined;
  }

  async describeCommandOf(name: string, connection: InitConnection): Promise<CommandContext> {
    const user = await findUser(connection, ["user", name]);
    if (user.shell === "") throw new SandboxImageError(noShell);
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
    return this.#options.ids?.count === 1 ? {} : { user };
  }

  #environment({ home, shell }: ImageUser, user: string): Record<string, string> {
    const name = user.split(":")[0] as string;
    return {
      ...{ PATH: defaultPath, LANG: "C.UTF-8", TERM: "dumb" },
      ...this.#options.env,
      ...{ HOME: home, USER: name, LOGNAME: name, SHELL: shell },
      GIT_CONFIG_SYSTEM: "/opt/outrider/gitconfig",
      ...(this.#options.hasNetwork ? proxyEnvironment : {}),
    };
  }
}

/** Looks up the last argument with the program for files. */
async function findUser(connection: InitConnection, args: string[]): Promise<ImageUser> {
  const command = connection.start({
    argv: [sandboxFilesPath, ...args],
    env: {},
    folders: ["/"],
    stdin: false,
  });
  await command.started;
  const [output, stderr, { exitCode }] = await Promise.all([
    firstBytes(command.stdout, maxUserBytes),
    firstBytes(command.stderr, 500),
    command.ended,
  ]);
  if (exitCode === notFoundCode)
    throw new SandboxImageError(`The image has no user "${args.at(-1)}": set \`user\` to one that it has.`);
  if (exitCode === notMappedCode)
    throw new SandboxImageError(
      `This worker has only one user id, so commands cannot run as "${args.at(-1)}": set \`user\` to root, or let the operator add ids for the worker (docs/running.md).`,
    );
  if (exitCode !== 0)
    throw new SandboxImageError(
      `The image's folders cannot be prepared: ${stderr.toString().trim() || "it took too long"}.`,
    );
  return parseUser(output.toString());
}

function mountpointOf({ isFolder, target }: ImageMount): string {
  return `${isFolder ? "" : "file:"}${target.replace(/^\/+/, "")}`;
}

/** The output is untrusted: the image decides what its user is. */
function parseUser(output: string): ImageUser {
  const [uid, gid, home = "", shell = "", ...groups] = output.split("\0").slice(0, -1);
  const ids = [uid, gid, ...groups].map(Number);
  if (!home.startsWith("/") || !ids.every((id) => Number.isInteger(id) && id < idCount))
    throw new Error("The image's user has ids above 65535 or no valid home.");
  const [userId = 0, groupId = 0, ...groupIds] = ids;
  return { uid: userId, gid: groupId, home, shell, groups: groupIds };
}
