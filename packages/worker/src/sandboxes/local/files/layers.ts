import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, closeSync, mkdirSync, renameSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { enterIdNamespace, type IdNamespace } from "../../../id-namespace.ts";
import { firstBytes } from "../../first-bytes.ts";
import { explainBwrapError, type SandboxFolders } from "../bubblewrap.ts";
import type { Mount } from "../mount.ts";
import { type ImageMounts, mountedFolder, mountImage } from "../systems/mount-image.ts";
import { sandboxFoldersIn } from "./folders.ts";
import { mountOverlaysScript, type OverlayMount, overlayArgs } from "./overlays.ts";
import type { Rootfs } from "./rootfs.ts";

/** The layers of an overlay: `lower` is the base, `upper` contains the changes. */
export interface Overlay {
  upper: string;
  lower: string;
}

/** The files of a sandbox, as seen in its mount namespace. */
export interface Layers {
  mnt: number;
  user: number | undefined;
  folders: SandboxFolders;
  overlay: Overlay | undefined;
  /** The folders on the host that contain all files, if the files are neither on a base nor on a disk image. */
  ownFolders: SandboxFolders | undefined;
  mounts: Mount[];
  /** Where the programs that every sandbox has are mounted, if they are. */
  programs: string | undefined;
}

export interface LayersOptions {
  root: string;
  rootfs: Rootfs;
  /** The base's folder, relative to the root. */
  base: string | undefined;
  mounts: Mount[];
  /** Whether overlays hide the paths of mounts. */
  hidesMounts: boolean;
}

/**
 * Mounts the overlays of a sandbox. A command can read where each of its mounts comes from (/proc/self/mountinfo). A
 * bind mount of a folder shows the folder's path on the host. A bind mount from an overlay or a disk image shows only a
 * path inside that file system, and the names of the overlay's layers. Therefore:
 *
 * - The sandbox's folders are on a disk image, an overlay, or both. If there is no base, the lower layer is empty.
 * - Read-only folders of the host are overlays without an upper layer.
 * - Layers have neutral names, relative to the rootfs. Symbolic links lead from these names to the real folders.
 */
export async function makeLayers(options: LayersOptions): Promise<Layers> {
  const { root, rootfs, base } = options;
  const { mnt, user, folder } = rootfs;
  const hasDisk = rootfs.files === "disk";
  const hasOverlay = base !== undefined || !hasDisk;
  const files = join(folder, rootfs.files);
  const merged = join(folder, "merged");
  const overlays: OverlayMount[] = [];
  if (base !== undefined) symlinkSync(join(root, base), join(folder, "base"));
  if (hasOverlay) {
    overlays.push({ lower: base === undefined ? "empty" : "base", files: rootfs.files, target: merged });
  }
  const hidden = hideMounts(options);
  const { mounts } = hidden;
  overlays.push(...hidden.overlays);
  if (overlays.length > 0) await mountOverlays(rootfs, overlays);
  const folders = sandboxFoldersIn(hasOverlay ? merged : files);
  return {
    ...{ mnt, user, mounts, programs: rootfs.programs },
    folders: hasDisk ? { ...folders, tmp: sandboxFoldersIn(files).tmp } : folders,
    overlay: base === undefined ? undefined : { upper: join(files, "upper"), lower: join(root, base) },
    ownFolders: base === undefined && !hasDisk ? sandboxFoldersIn(join(files, "upper")) : undefined,
  };
}

/** Replaces the sources of mounts by overlays. */
function hideMounts({ rootfs: { folder }, ...options }: LayersOptions) {
  const overlays: OverlayMount[] = [];
  const mounts = options.mounts.map((mount, index): Mount => {
    // An overlay cannot replace a file or a writable folder. Outrider itself mounts only read-only folders.
    if (!options.hidesMounts || mount.writable || !statSync(mount.source).isDirectory()) return mount;
    const [name, target] = [`source-${index}`, join(folder, `mount-${index}`)];
    symlinkSync(mount.source, join(folder, name));
    mkdirSync(target);
    overlays.push({ lower: `${name}:empty`, target });
    return { ...mount, source: target };
  });
  return { overlays, mounts };
}

async function mountOverlays(
  { mnt, user, folder }: Rootfs,
  overlays: OverlayMount[],
  ids?: IdNamespace,
): Promise<void> {
  const inUserNamespace = user !== undefined || ids !== undefined;
  const args = overlays.flatMap((overlay) => overlayArgs(overlay, inUserNamespace));
  await runIn({ mnt, user, ids }, ["sh", "-c", mountOverlaysScript, "sh", folder, ...args]);
}

/** A mount in a sandbox with an image. */
export interface ImageMount extends Mount {
  isFolder: boolean;
}

/**
 * Mounts the files of a sandbox with an image, and the overlays that hide the paths of mounts. They can be released when
 * every process of the sandbox has exited.
 */
export async function makeImageFiles({
  layers,
  layersFolder,
  uid,
  maxProcesses,
  ids,
  ...options
}: LayersOptions & {
  layers: string[];
  layersFolder: string;
  uid: number;
  maxProcesses: number | undefined;
  ids: IdNamespace | undefined;
}): Promise<{
  image: ImageMounts;
  mounts: ImageMount[];
  programs: string | undefined;
  save(target: string): Promise<void>;
  release(): void;
}> {
  const { root, rootfs, base } = options;
  const { mnt, folder } = rootfs;
  const hidden = hideMounts(options);
  if (hidden.overlays.length > 0) await mountOverlays(rootfs, hidden.overlays, ids);
  const mounted = mountedFolder(rootfs, ids);
  const hostFiles: Record<string, string> = {};
  const mounts = hidden.mounts.map((mount, index): ImageMount => {
    const isFolder = statSync(mount.source).isDirectory();
    if (mount.source.startsWith(`${folder}/`))
      return { ...mount, isFolder, source: join(mounted, mount.source.slice(folder.length)) };
    if (!ids) return { ...mount, isFolder };
    const name = `host-${index}`;
    if (isFolder) mkdirSync(join(folder, name));
    else writeFileSync(join(folder, name), "");
    hostFiles[name] = mount.source;
    return { ...mount, isFolder, source: join(mounted, name) };
  });
  const baseFolder = base === undefined ? undefined : join(root, base);
  const image = await mountImage({
    ...{ layersFolder, layers, baseFolder, rootfs, uid, ids, maxProcesses, hostFiles },
  });
  // The copy has the ids of the files on disk, not those of the sandbox.
  const upper = join(folder, rootfs.files, "image/upper");
  const save = (target: string) =>
    runIn(
      { mnt: ids ? undefined : mnt, user: undefined, ids },
      copyCommand([upper], join(target, "root")),
      explainCopyError,
    );
  const programs = rootfs.programs && join(mounted, rootfs.programs.slice(folder.length));
  return { image, mounts, programs, save, release: () => closeSync(image.user) };
}

/** Moves the workspace and the home into a folder, or copies them if they are in another file system. */
export async function saveFiles(
  { layers, folders }: { layers: Layers | undefined; folders: SandboxFolders },
  target: string,
): Promise<void> {
  if (layers && !layers.ownFolders) return await copyFilesOut(layers, target);
  for (const name of ["workspace", "home"] as const) {
    const folder = (layers?.ownFolders ?? folders)[name];
    chmodSync(folder, 0o700);
    renameSync(folder, join(target, name));
  }
}

/** Copies the workspace and home from the sandbox's mount namespace to a folder on the host. */
async function copyFilesOut({ folders, ...layers }: Layers, target: string): Promise<void> {
  await runIn(layers, copyCommand([folders.workspace, folders.home], target), explainCopyError);
}

/** The copy may take a long time and is useless without this worker, so it is killed when the worker dies. */
function copyCommand(sources: string[], target: string): string[] {
  return ["setpriv", "--pdeathsig", "KILL", "cp", "-a", "--reflink=auto", "--", ...sources, target];
}

/** Quotes no path, because it would be a path of the host. */
function explainCopyError(stderr: string): string {
  if (/File name too long/.test(stderr))
    return "The workspace or the home contains a path of more than 4,096 bytes, so its files cannot be saved.";
  return `The files cannot be saved: ${/[^:]*$/.exec(stderr.trim())?.[0].trim() || "cp gave no reason"}.`;
}

async function runIn(
  { mnt, user, ids }: { mnt: number | undefined; user: number | undefined; ids?: IdNamespace | undefined },
  argv: string[],
  explain = (stderr: string) => explainBwrapError(stderr.slice(0, 1000)),
): Promise<void> {
  const enter = [
    ...(mnt === undefined ? [] : ["--mount=/proc/self/fd/3"]),
    ...(ids ? enterIdNamespace(ids) : []),
    ...(user === undefined ? [] : ["--user=/proc/self/fd/4", "--preserve-credentials"]),
  ];
  const child = spawn("nsenter", [...enter, ...argv], {
    stdio: ["ignore", "ignore", "pipe", mnt ?? "ignore", user ?? "ignore"],
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" },
  });
  const [[code], stderr] = await Promise.all([
    once(child, "exit"),
    // The reason follows a path, which can be long.
    firstBytes(child.stderr as Readable, 16 * 1024),
  ]);
  if (code !== 0) throw new Error(explain(stderr.toString()));
}
