/**
 * The system of an image. Its processes run in a user namespace of their own, in which they can be root: commands as the
 * environment's user, setup commands as root. Outside, all of their ids are unprivileged.
 *
 * - `commands` sees the image as its root folder, with the capabilities that containers usually have.
 * - `scripts` sees the worker's own programs, because those of the image are hostile and may be missing. The image's files
 *   are at /.outrider/root, and /workspace and /home/sandbox are links to them. So a hostile link leads to a file that the
 *   scripts see anyway, never to the host.
 */
import { type IdNamespace, rootArgs } from "../../../id-namespace.ts";
import { imageRootPath, layerPaths } from "../../files/script-paths.ts";
import type { ProcessKind } from "../../systems/command-system.ts";
import { ImageCommands } from "../../systems/image-commands.ts";
import { openAll } from "../files/etc.ts";
import type { ImageMount } from "../files/layers.ts";
import type { Mount } from "../mount.ts";
import type { UnixAccount } from "../unix-account.ts";
import { imageBwrapArgs, imageScriptBwrapArgs } from "./image-bwrap-args.ts";
import type { ImageMounts } from "./mount-image.ts";
import type { ImageEntry, System, SystemProcess } from "./system.ts";

const mountpoints = [
  "proc",
  "dev",
  "opt/outrider/bin",
  "file:etc/hosts",
  "file:etc/outrider-connect",
  "file:opt/outrider/gitconfig",
  "file:opt/outrider/gitconfig-push",
];

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

export class ImageSystem extends ImageCommands implements System {
  readonly preparesFolders = true;
  readonly account: UnixAccount;
  readonly #options: ImageSystemOptions;

  constructor(options: ImageSystemOptions) {
    super({
      ...options,
      hasUserIds: options.ids?.count !== 1,
      layeredFolder: (path) => ({
        ...{ merged: imageRootPath + path, upper: layerPaths.upper + path, lower: layerPaths.lower + path },
      }),
    });
    this.account = options.account;
    this.#options = options;
  }

  get userNamespace(): number {
    return this.#options.mounts.user;
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
}

function mountpointOf({ isFolder, target }: ImageMount): string {
  return `${isFolder ? "" : "file:"}${target.replace(/^\/+/, "")}`;
}
