/**
 * The root file systems (rootfs) of sandboxes. A rootfs is a folder plus a mount namespace.
 * With a disk limit, an ext4 image of that size is mounted in the namespace; without one, the folders are ordinary
 * folders on the host.
 *
 *     <folder>/disk.ext4   the image, if there is a disk limit
 *     <folder>/disk/       its mount point
 *     <folder>/merged/     mount point for the overlay of base and upper layer (see layers.ts)
 *     <folder>/empty/      an empty lower layer
 *     <folder>/programs/   mount point for the programs that every sandbox has, if overlays can hide their path
 *
 * Creating a rootfs takes several processes, so a pool keeps one per disk size ready in `.rootfs-pool`. `take` renames
 * the folder to its final path; mounts below a renamed folder move with it in every namespace. If the worker runs as an
 * ordinary user, the mount namespace belongs to a user namespace, which processes enter first.
 *
 * Invariants:
 * - The namespaces exist only as open files. They disappear, with its mounts and loop device, when the worker
 *   exits for any reason.
 * - Mounts are invisible in the host's namespace.
 * - A folder in `.rootfs-pool` that is not in `inPreparation` belongs to an earlier worker, and `reap` removes it.
 */
import { randomUUID } from "node:crypto";
import { chmodSync, close, mkdirSync, readdirSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { enterIdNamespace, type IdNamespace } from "../../../id-namespace.ts";
import { removeFolder } from "../../../remove-folder.ts";
import { nativeProgram } from "../../files/programs.ts";
import { Pool } from "../pool.ts";
import { createNamespaces } from "../process/namespaces.ts";
import { processTag } from "../process/process-tag.ts";
import type { UnixAccount } from "../unix-account.ts";
import { type DiskImages, mountCommand } from "./disk-images.ts";
import { makeSkeleton } from "./folders.ts";
import { overlayArgs } from "./overlays.ts";

export interface Rootfs {
  /** The mount namespace, as an open file. */
  mnt: number;
  /** The user namespace that owns it, as an open file, if the worker runs as an ordinary user. */
  user: number | undefined;
  folder: string;
  /** The path of the skeleton folders, relative to `folder`. */
  files: "." | "disk";
  /** Where the programs that every sandbox has are mounted, if they are. */
  programs: string | undefined;
}

interface RootfsPoolOptions {
  /** From `makePoolFolder`. */
  folder: string;
  account: UnixAccount | undefined;
  diskImages: DiskImages;
  /** The user namespace to which the mount namespaces belong. Default: without root, a new one for each. */
  ids?: IdNamespace;
  /** The folder with the programs to mount. Absent if overlays cannot hide its path. */
  programs: string | undefined;
}

/**
 * Mounts the overlay that the first three arguments describe (working folder, options and target; or three empty ones),
 * runs the mount command in the other arguments, prints its own pid, and exits when its stdin ends.
 */
const holderScript = `
if [ -n "$1" ]; then (cd "$1" && mount -t overlay -o "$2" overlay "$3") || exit; fi
shift 3
if [ $# -gt 0 ]; then "$@" || exit; fi
echo $$
read -r _ || :`;
const programsSource = "source-programs";
const programsTarget = "programs";
const closeFile = promisify(close);

/** Creates and returns the folder for root file systems in preparation, and for trials. */
export function makePoolFolder(root: string, name = ".rootfs-pool"): string {
  const folder = join(root, name);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

/** Releases the namespaces. The folder remains. The last reference unmounts a disk image, which takes milliseconds. */
export async function closeRootfs({ mnt, user }: Pick<Rootfs, "mnt" | "user">): Promise<void> {
  await closeFile(mnt);
  if (user !== undefined) await closeFile(user);
}

export class RootfsPool {
  readonly #options: RootfsPoolOptions;
  readonly #inPreparation = new Set<string>();
  readonly #pool: Pool<number | undefined, Rootfs>;

  constructor(options: RootfsPoolOptions) {
    this.#options = options;
    this.#pool = new Pool({
      create: (disk_mb) => this.#create(disk_mb),
      discard: async (rootfs) => {
        await closeRootfs(rootfs);
        await removeFolder(rootfs.folder);
      },
    });
  }

  /** Takes a rootfs from the pool, or creates one, and moves its folder to `path`. */
  async take(path: string, disk_mb: number | undefined): Promise<Rootfs> {
    const rootfs = await this.#pool.take(disk_mb);
    renameSync(rootfs.folder, path);
    this.#inPreparation.delete(rootfs.folder);
    const programs = rootfs.programs === undefined ? undefined : join(path, programsTarget);
    return { ...rootfs, folder: path, programs };
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  /** Removes the folders that an earlier worker left behind. */
  async reap(): Promise<void> {
    for (const name of readdirSync(this.#options.folder)) {
      const folder = join(this.#options.folder, name);
      if (!this.#inPreparation.has(folder)) await removeFolder(folder);
    }
  }

  async #create(disk_mb: number | undefined): Promise<Rootfs> {
    const folder = join(this.#options.folder, randomUUID());
    this.#inPreparation.add(folder);
    try {
      return { folder, ...(await this.#populate(folder, disk_mb)) };
    } catch (error) {
      await removeFolder(folder);
      this.#inPreparation.delete(folder);
      throw error;
    }
  }

  async #populate(folder: string, disk_mb: number | undefined): Promise<Omit<Rootfs, "folder">> {
    const { account, diskImages, ids } = this.#options;
    const isRoot = account !== undefined;
    const hasOwnUser = !isRoot && ids === undefined;
    const [image, disk] = [join(folder, "disk.ext4"), join(folder, "disk")];
    const programs = join(folder, programsTarget);
    for (const path of [folder, join(folder, "merged"), join(folder, "empty"), disk, programs]) {
      mkdirSync(path);
      chmodSync(path, 0o711);
    }
    if (disk_mb === undefined) makeSkeleton(folder, account);
    const overlay = this.#options.programs
      ? [folder, ...overlayArgs({ lower: `${programsSource}:empty`, target: programs }, !isRoot)]
      : undefined;
    if (this.#options.programs) symlinkSync(this.#options.programs, join(folder, programsSource));
    const made = {
      files: disk_mb === undefined ? "." : "disk",
      programs: this.#options.programs === undefined ? undefined : programs,
    } as const;
    if (isRoot && !ids) {
      const copy = disk_mb === undefined ? [] : ["copy", await diskImages.template(disk_mb), image];
      const [mnt] = await createNamespaces({
        argv: [
          ...[nativeProgram("make-rootfs"), processTag, ...copy, "unshare"],
          ...(overlay ? ["overlay", ...overlay] : []),
          ...(disk_mb === undefined ? [] : ["ext4", image, disk]),
        ],
        cwd: "/",
        namespaces: ["mnt"],
      });
      return { mnt: mnt as number, user: undefined, ...made };
    }
    if (disk_mb !== undefined) await diskImages.create(image, disk_mb);
    // Uses slave mounts, not private ones: otherwise this copy would keep a mount busy after the host unmounts it.
    const [mnt, user] = await createNamespaces({
      argv: [
        ...(ids ? ["nsenter", ...enterIdNamespace(ids)] : []),
        ...[
          "unshare",
          ...(hasOwnUser ? ["--user", "--map-root-user"] : []),
          "--mount",
          "--propagation",
          "slave",
        ],
        ...["sh", "-c", holderScript, processTag, ...(overlay ?? ["", "", ""])],
        ...(disk_mb === undefined ? [] : mountCommand(image, disk)),
      ],
      cwd: "/",
      namespaces: hasOwnUser ? ["mnt", "user"] : ["mnt"],
    });
    return { mnt: mnt as number, user, ...made };
  }
}
