import { execFile } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { mkdtemp, rename, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Capability } from "./cgroups/cgroups.ts";
import { makeSkeleton } from "./folders.ts";
import type { Identity } from "./identity.ts";

const run = promisify(execFile);
const settings = { env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" }, cwd: "/" };
const trialMb = 8;

/**
 * Bounds a sandbox's disk: its files lie on a file system of their own, in an image that takes as much of the host's
 * disk as is used, and at most its size. Only root can mount one. The folder keeps one empty image for each size, of
 * which every other is a copy: that takes a few milliseconds.
 */
export async function openDisks(options: { folder: string; owner: Identity }): Promise<Disks> {
  mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  const disks = new Disks(options);
  await disks.check();
  return disks;
}

export class Disks {
  capability: Capability = { enforced: false, reason: "It has not been tried." };
  readonly #folder: string;
  readonly #owner: Identity;
  readonly #templates = new Map<number, Promise<string>>();

  constructor({ folder, owner }: { folder: string; owner: Identity }) {
    this.#folder = folder;
    this.#owner = owner;
  }

  /** Tries it whole, in a mount namespace that nobody else sees. */
  async check(): Promise<void> {
    const image = join(this.#folder, `trial-${process.pid}.ext4`);
    try {
      if (process.getuid?.() !== 0) throw new Error("only root can mount an image: start the worker as root");
      await this.make(image, trialMb);
      const script = 'mount --make-rprivate / && "$@"';
      await run(
        "unshare",
        ["--mount", "sh", "-c", script, "sh", ...mountCommand(image, this.#folder)],
        settings,
      );
      this.capability = { enforced: true, by: "ext4 image" };
    } catch (error) {
      const { stderr, message } = error as Error & { stderr?: string };
      const why = (stderr || message).trim().replaceAll(/\s+/g, " ").slice(0, 300);
      this.capability = { enforced: false, reason: `The sandboxes' disk cannot be limited: ${why}.` };
    } finally {
      await rm(image, { force: true });
    }
  }

  /** Makes an image of that size at the path, with the folders that a sandbox needs; they belong to its user. */
  async make(path: string, mb: number): Promise<void> {
    let template = this.#templates.get(mb);
    if (!template) {
      template = this.#makeTemplate(mb);
      this.#templates.set(mb, template);
      template.catch(() => this.#templates.delete(mb));
    }
    await run("cp", ["--sparse=always", "--", await template, path], settings);
  }

  async #makeTemplate(mb: number): Promise<string> {
    const { uid, gid } = this.#owner;
    const path = join(this.#folder, `empty-${mb}-${uid}-${gid}.ext4`);
    if (existsSync(path)) return path;
    const unfinished = `${path}.${process.pid}`;
    const content = await mkdtemp(`${path}.content-`);
    try {
      makeSkeleton(content, this.#owner);
      await writeFile(unfinished, "", { mode: 0o600 });
      await truncate(unfinished, mb * 2 ** 20);
      // Without a journal, since nothing of it has to survive a crash; nothing kept back for root; and more inodes
      // than usual, for the many small files that packages consist of.
      const features = ["-O", "^has_journal,^resize_inode", "-m", "0", "-i", "8192"];
      const details = ["-E", `root_owner=${uid}:${gid},lazy_itable_init=1,nodiscard`];
      await run("mkfs.ext4", ["-q", "-F", ...features, ...details, "-d", content, unfinished], settings);
      await rename(unfinished, path);
      return path;
    } finally {
      await rm(unfinished, { force: true });
      await rm(content, { recursive: true, force: true });
    }
  }
}

/**
 * To be run in the sandbox's mount namespace. The loop device that it takes goes with the mount, and so with the
 * namespace, however its holder ends. What is deleted inside is given back to the host; the kernel need not clear
 * tables that are empty anyway; and a sync inside need not wait for the host's disk.
 */
export function mountCommand(image: string, target: string): string[] {
  const options = "loop,nodev,nosuid,noatime,discard,noinit_itable,nobarrier";
  return ["mount", "-t", "ext4", "-o", options, image, target];
}
