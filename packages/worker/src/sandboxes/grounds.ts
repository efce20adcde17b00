import { randomUUID } from "node:crypto";
import { chmodSync, closeSync, mkdirSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { type Disks, mountCommand } from "./disk.ts";
import { makeSkeleton, removeFolder } from "./folders.ts";
import { firstGivenFd, hold } from "./holder.ts";
import type { Identity } from "./identity.ts";
import { mark } from "./mark.ts";
import { Spares } from "./spares.ts";

/** What the files of a sandbox stand on: a folder, and a mount namespace in which its disk is mounted. */
export interface Ground {
  /** The mount namespace, as an open file. Nothing of it shows in the host's own. */
  mnt: number;
  folder: string;
  /** Where in the folder its skeleton is. */
  files: "." | "disk";
}

interface GroundsOptions {
  root: string;
  identity: Identity | undefined;
  disks: Disks;
}

/** Says when it is ready, and ends with its stdin. */
const script = 'if [ $# -gt 0 ]; then "$@" || exit; fi; echo $$; read -r _ || :';

export class Grounds {
  readonly #options: GroundsOptions;
  readonly #folder: string;
  readonly #ours = new Set<string>();
  readonly #spares: Spares<number | undefined, Ground>;

  constructor(options: GroundsOptions) {
    this.#options = options;
    this.#folder = join(options.root, ".grounds");
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    this.#spares = new Spares({
      make: (disk_mb) => this.#make({ disk_mb, user: undefined }),
      discard: async ({ mnt, folder }) => {
        closeSync(mnt);
        await removeFolder(folder);
      },
    });
  }

  /** One that lies at the path. An ordinary user's belongs to a user namespace, so none can be made ahead. */
  async take(
    path: string,
    needs: { disk_mb: number | undefined; user: number | undefined },
  ): Promise<Ground> {
    const ground = await (needs.user === undefined ? this.#spares.take(needs.disk_mb) : this.#make(needs));
    // What is mounted below a folder goes where the folder goes, in every namespace.
    renameSync(ground.folder, path);
    this.#ours.delete(ground.folder);
    return { ...ground, folder: path };
  }

  async close(): Promise<void> {
    await this.#spares.close();
  }

  /** Removes what an earlier worker had made ahead. */
  async reap(): Promise<void> {
    for (const folder of readdirSync(this.#folder).map((name) => join(this.#folder, name))) {
      if (!this.#ours.has(folder)) await removeFolder(folder);
    }
  }

  async #make(needs: { disk_mb: number | undefined; user: number | undefined }): Promise<Ground> {
    const folder = join(this.#folder, randomUUID());
    this.#ours.add(folder);
    try {
      return { folder, ...(await this.#fill(folder, needs)) };
    } catch (error) {
      await removeFolder(folder);
      this.#ours.delete(folder);
      throw error;
    }
  }

  /**
   * The mounts are slaves of the host's, not private: what the host unmounts later must not be kept busy by our copy.
   */
  async #fill(
    folder: string,
    { disk_mb, user }: { disk_mb: number | undefined; user: number | undefined },
  ): Promise<Pick<Ground, "mnt" | "files">> {
    const { identity, disks } = this.#options;
    const [image, disk] = [join(folder, "disk.ext4"), join(folder, "disk")];
    for (const path of [folder, join(folder, "merged"), disk]) {
      mkdirSync(path);
      chmodSync(path, 0o711);
    }
    if (disk_mb === undefined) makeSkeleton(folder, identity);
    else await disks.make(image, disk_mb);
    const enter =
      user === undefined ? [] : ["nsenter", `--user=/proc/self/fd/${firstGivenFd}`, "--preserve-credentials"];
    const unshare = ["unshare", "--mount", "--propagation", "slave", "sh", "-c", script, mark];
    const { files } = await hold({
      argv: [...enter, ...unshare, ...(disk_mb === undefined ? [] : mountCommand(image, disk))],
      cwd: "/",
      give: user === undefined ? [] : [user],
      namespaces: ["mnt"],
    });
    return { mnt: files[0] as number, files: disk_mb === undefined ? "." : "disk" };
  }
}
