import { execFile } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { mkdtemp, rename, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Capability } from "../cgroups/cgroups.ts";
import type { UnixAccount } from "../unix-account.ts";
import { makeSkeleton } from "./folders.ts";

const run = promisify(execFile);
const execOptions = { env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" }, cwd: "/" };
const trialMb = 8;

/**
 * Limits sandboxes' disk space by means of ext4 images. An image is sparse: it occupies only as much of the host's disk
 * as the sandbox uses, up to the image's size. Only root can mount an image. The folder contains one empty template per
 * size, and every image is a copy of a template, which takes a few milliseconds.
 */
export async function openDiskImages(options: { folder: string; owner: UnixAccount }): Promise<DiskImages> {
  mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  const disks = new DiskImages(options);
  await disks.check();
  return disks;
}

export class DiskImages {
  capability: Capability = { enforced: false, reason: "Disk limits were not checked." };
  readonly #folder: string;
  readonly #owner: UnixAccount;
  readonly #templates = new Map<number, Promise<string>>();

  constructor({ folder, owner }: { folder: string; owner: UnixAccount }) {
    this.#folder = folder;
    this.#owner = owner;
  }

  /** Checks whether disk limits work, by creating and mounting a trial image in a private mount namespace. */
  async check(): Promise<void> {
    const image = join(this.#folder, `trial-${process.pid}.ext4`);
    try {
      if (process.getuid?.() !== 0) throw new Error("only root can mount an image: start the worker as root");
      await this.create(image, trialMb);
      const script = 'mount --make-rprivate / && "$@"';
      await run(
        "unshare",
        ["--mount", "sh", "-c", script, "sh", ...mountCommand(image, this.#folder)],
        execOptions,
      );
      this.capability = { enforced: true, by: "ext4 image" };
    } catch (error) {
      const { stderr, message } = error as Error & { stderr?: string };
      const why = (stderr || message).trim().replaceAll(/\s+/g, " ").slice(0, 300);
      this.capability = { enforced: false, reason: `Sandbox disk cannot be limited: ${why}.` };
    } finally {
      await rm(image, { force: true });
    }
  }

  /** Creates an image at the path. */
  async create(path: string, mb: number): Promise<void> {
    await run("cp", ["--sparse=always", "--", await this.template(mb), path], execOptions);
  }

  /**
   * Returns the path of a file of which every image of this size is a copy. It contains the folders that a sandbox needs,
   * which belong to the sandbox user.
   */
  async template(mb: number): Promise<string> {
    let template = this.#templates.get(mb);
    if (!template) {
      template = this.#createTemplate(mb);
      this.#templates.set(mb, template);
      template.catch(() => this.#templates.delete(mb));
    }
    return await template;
  }

  async #createTemplate(mb: number): Promise<string> {
    const { uid, gid } = this.#owner;
    const path = join(this.#folder, `template-${mb}-${uid}-${gid}.ext4`);
    if (existsSync(path)) return path;
    const unfinished = `${path}.${process.pid}`;
    const content = await mkdtemp(`${path}.content-`);
    try {
      makeSkeleton(content, this.#owner);
      await writeFile(unfinished, "", { mode: 0o600 });
      await truncate(unfinished, mb * 2 ** 20);
      // There is no journal, because the image need not survive a crash, and no blocks are reserved for root. There are
      // more inodes than usual, because packages contain many small files.
      const features = ["-O", "^has_journal,^resize_inode", "-m", "0", "-i", "8192"];
      const details = ["-E", `root_owner=${uid}:${gid},lazy_itable_init=1,nodiscard`];
      await run("mkfs.ext4", ["-q", "-F", ...features, ...details, "-d", content, unfinished], execOptions);
      await rename(unfinished, path);
      return path;
    } finally {
      await rm(unfinished, { force: true });
      await rm(content, { recursive: true, force: true });
    }
  }
}

/**
 * Returns the mount command to run in the sandbox's mount namespace. The loop device is released together with the
 * mount, and the mount together with the namespace. `discard` returns deleted blocks to the host, `noinit_itable` skips
 * clearing tables that are empty anyway, and with `nobarrier` a sync inside the sandbox does not wait for the host's
 * disk. native/make-rootfs.c mounts images in the same way.
 */
export function mountCommand(image: string, target: string): string[] {
  const options = "loop,nodev,nosuid,noatime,discard,noinit_itable,nobarrier";
  return ["mount", "-t", "ext4", "-o", options, image, target];
}
