import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { nativeProgram } from "../files/programs.ts";
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
}): Promise<ImageMounts> {
  const { layersFolder, layers, baseFolder, rootfs, uid } = options;
  const { folder, mnt } = rootfs;
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
      ...["nsenter", `--mount=/proc/self/fd/${firstPassedFd}`],
      ...["sh", "-c", 'cd "$1" && shift && exec "$@"', processTag, folder],
      ...[nativeProgram("mount-image"), String(uid), String(storeUid), String(idCount), ...steps],
    ],
    cwd: "/",
    passFds: [mnt],
    namespaces: ["user"],
  });
  return {
    user: user as number,
    merged: join(folder, "merged"),
    upper: join(folder, "image-files/upper"),
    lower: join(folder, "lower"),
    state: join(folder, "image-files/state"),
    tmp: join(folder, "image-files/tmp"),
  };
}
