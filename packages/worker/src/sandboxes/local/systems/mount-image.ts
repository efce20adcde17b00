import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { enterIdNamespace, type IdNamespace } from "../../../id-namespace.ts";
import { nativeProgram } from "../../files/programs.ts";
import type { Rootfs } from "../files/rootfs.ts";
import { createNamespaces, firstPassedFd } from "../process/namespaces.ts";
import { processTag } from "../process/process-tag.ts";
import { idCount, storeUid } from "./uid-ranges.ts";

/** The folders of a sandbox with an image, in its mount namespace. */
export interface ImageMounts {
  /** The sandbox's user namespace, as an open file. */
  user: number;
  /** The system that commands see. */
  merged: string;
  /** The files that the sandbox has changed. */
  upper: string;
  /** The image and the base, without the changes. */
  lower: string;
  /** A private folder for data that the worker's scripts store between calls. */
  state: string;
  /** Temporary files of the worker's scripts. */
  tmp: string;
}

/**
 * Where the files are mounted if the worker does not run as root. bubblewrap runs without the worker's user id then, so it
 * cannot enter the worker's folders. Nothing that a sandbox needs is below this path.
 */
const publicFolder = "/sys";

/**
 * Mounts the files of a sandbox with an image as one overlay: the image's layers, the build's layer and an upper layer for
 * the sandbox's own changes. All of them belong to `storeUid` on disk; the mounts show them with the sandbox's own ids.
 */
export async function mountImage(options: {
  /** The folder of the layers, by name. */
  layersFolder: string;
  /** The names of the image's layers, from bottom to top. */
  layers: string[];
  /** The folder of the base, which contains the build's layer as `root`. */
  baseFolder: string | undefined;
  rootfs: Rootfs;
  uid: number;
  /** The maximum number of processes, if no control group limits it. */
  maxProcesses: number | undefined;
  /** The worker's user namespace, if the worker does not run as root. */
  ids: IdNamespace | undefined;
  /** Files of the host to mount in the rootfs, by name. */
  hostFiles: Record<string, string>;
}): Promise<ImageMounts> {
  const { layersFolder, layers, baseFolder, rootfs, uid, ids, maxProcesses = 0 } = options;
  const { folder, mnt } = rootfs;
  const mounted = mountedFolder(rootfs, ids);
  const map = ids ? ["0", "0", String(ids.count)] : [String(uid), String(storeUid), String(idCount)];
  for (const name of ["image-layers", "image-base", "image-files", "lower"]) mkdirSync(join(folder, name));
  // Short names, because the kernel limits the length of an overlay's options to one page.
  const names = layers.map((layer, index) => {
    symlinkSync(join("image-layers", layer), join(folder, `l${index}`));
    return `l${index}`;
  });
  const lower = [...(baseFolder === undefined ? [] : ["image-base/root"]), ...names.reverse(), "empty"].join(
    ":",
  );
  const files = `${rootfs.files}/image`;
  const steps = [
    ...(ids ? ["place", folder, publicFolder] : []),
    ...Object.entries(options.hostFiles).flatMap(([name, source]) => ["bind", source, name]),
    ...["folder", files, "folder", `${files}/upper`, "folder", `${files}/work`],
    ...["folder", `${files}/state`, "shared-folder", `${files}/tmp`],
    ...["bind", layersFolder, "image-layers"],
    ...(baseFolder === undefined ? [] : ["bind", baseFolder, "image-base"]),
    ...["bind", files, "image-files"],
    ...["overlay", `lowerdir=${lower},userxattr`, "lower"],
    ...[
      "overlay",
      `lowerdir=${lower},upperdir=image-files/upper,workdir=image-files/work,userxattr`,
      "merged",
    ],
  ];
  const [user] = await createNamespaces({
    argv: [
      ...["nsenter", `--mount=/proc/self/fd/${firstPassedFd}`, ...(ids ? enterIdNamespace(ids) : [])],
      ...["sh", "-c", 'cd "$1" && shift && exec "$@"', processTag, folder],
      ...[nativeProgram("mount-image"), ...map, String(maxProcesses), ...steps],
    ],
    cwd: "/",
    passFds: [mnt],
    namespaces: ["user"],
  });
  return {
    user: user as number,
    merged: join(mounted, "merged"),
    upper: join(mounted, "image-files/upper"),
    lower: join(mounted, "lower"),
    state: join(mounted, "image-files/state"),
    tmp: join(mounted, "image-files/tmp"),
  };
}

/** Returns the path of the rootfs in its mount namespace. */
export function mountedFolder({ folder }: Pick<Rootfs, "folder">, ids: IdNamespace | undefined): string {
  return ids ? publicFolder : folder;
}
