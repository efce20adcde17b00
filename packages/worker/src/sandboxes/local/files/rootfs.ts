/**
 * The root file systems (rootfs) of sandboxes. A rootfs is a folder plus a mount namespace.
 * With a disk limit, an ext4 image of that size is mounted in the namespace; without one, the folders are ordinary
 * folders on the host.
 *
 *     <folder>/disk.ext4   the image, if there is a disk limit
 *     <folder>/disk/       its mount point
 *     <folder>/merged/     mount point for the overlay of base and upper layer (see layers.ts)
 *     <folder>/empty/      an empty lower layer
 *
 * Creating a rootfs takes several processes, so a pool keeps one per disk size ready in `.rootfs-pool`. `take` renames
 * the folder to its final path; mounts below a renamed folder move with it in every namespace. If the worker runs as an
 * ordinary user, the mount namespace belongs to the sandbox's user namespace, so the rootfs is created on demand.
 *
 * Invariants:
 * - The mount namespace exists only as an open file. It disappears, with its mounts and loop device, when the worker
 *   exits for any reason.
 * - Mounts are invisible in the host's namespace.
 * - A folder in `.rootfs-pool` that is not in `inPreparation` belongs to an earlier worker, and `reap` removes it.
 */
import { randomUUID } from "node:crypto";
import { chmodSync, closeSync, mkdirSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { Pool } from "../pool.ts";
import { createNamespaces, firstPassedFd } from "../process/namespaces.ts";
import { processTag } from "../process/process-tag.ts";
import type { UnixAccount } from "../unix-account.ts";
import { type DiskImages, mountCommand } from "./disk-images.ts";
import { makeSkeleton, removeFolder } from "./folders.ts";

export interface Rootfs {
  /** The mount namespace, as an open file. */
  mnt: number;
  folder: string;
  /** The path of the skeleton folders, relative to `folder`. */
  files: "." | "disk";
}

interface RootfsNeeds {
  disk_mb: number | undefined;
  /** The sandbox's user namespace, as an open file, if the worker runs as an ordinary user. */
  user: number | undefined;
}

interface RootfsPoolOptions {
  root: string;
  account: UnixAccount | undefined;
  diskImages: DiskImages;
}

/** Runs the mount command that it receives as arguments, prints its own pid, and exits when its stdin ends. */
const holderScript = 'if [ $# -gt 0 ]; then "$@" || exit; fi; echo $$; read -r _ || :';

export class RootfsPool {
  /** Contains root file systems in preparation, and trials. */
  readonly folder: string;
  readonly #options: RootfsPoolOptions;
  readonly #inPreparation = new Set<string>();
  readonly #pool: Pool<number | undefined, Rootfs>;

  constructor(options: RootfsPoolOptions) {
    this.#options = options;
    this.folder = join(options.root, ".rootfs-pool");
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    this.#pool = new Pool({
      create: (disk_mb) => this.#create({ disk_mb, user: undefined }),
      discard: async ({ mnt, folder }) => {
        closeSync(mnt);
        await removeFolder(folder);
      },
    });
  }

  /** Takes a rootfs from the pool, or creates one, and moves its folder to `path`. */
  async take(path: string, needs: RootfsNeeds): Promise<Rootfs> {
    const rootfs = await (needs.user === undefined ? this.#pool.take(needs.disk_mb) : this.#create(needs));
    renameSync(rootfs.folder, path);
    this.#inPreparation.delete(rootfs.folder);
    return { ...rootfs, folder: path };
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  /** Removes the folders that an earlier worker left behind. */
  async reap(): Promise<void> {
    for (const folder of readdirSync(this.folder).map((name) => join(this.folder, name))) {
      if (!this.#inPreparation.has(folder)) await removeFolder(folder);
    }
  }

  async #create(needs: RootfsNeeds): Promise<Rootfs> {
    const folder = join(this.folder, randomUUID());
    this.#inPreparation.add(folder);
    try {
      return { folder, ...(await this.#populate(folder, needs)) };
    } catch (error) {
      await removeFolder(folder);
      this.#inPreparation.delete(folder);
      throw error;
    }
  }

  async #populate(folder: string, { disk_mb, user }: RootfsNeeds): Promise<Pick<Rootfs, "mnt" | "files">> {
    const { account, diskImages } = this.#options;
    const [image, disk] = [join(folder, "disk.ext4"), join(folder, "disk")];
    for (const path of [folder, join(folder, "merged"), join(folder, "empty"), disk]) {
      mkdirSync(path);
      chmodSync(path, 0o711);
    }
    if (disk_mb === undefined) makeSkeleton(folder, account);
    else await diskImages.create(image, disk_mb);
    const enterUserNamespace =
      user === undefined
        ? []
        : ["nsenter", `--user=/proc/self/fd/${firstPassedFd}`, "--preserve-credentials"];
    // Uses slave mounts, not private ones: otherwise this copy would keep a mount busy after the host unmounts it.
    const unshare = ["unshare", "--mount", "--propagation", "slave", "sh", "-c", holderScript, processTag];
    const { files } = await createNamespaces({
      argv: [...enterUserNamespace, ...unshare, ...(disk_mb === undefined ? [] : mountCommand(image, disk))],
      cwd: "/",
      passFds: user === undefined ? [] : [user],
      namespaces: ["mnt"],
    });
    return { mnt: files[0] as number, files: disk_mb === undefined ? "." : "disk" };
  }
}
