import { randomUUID } from "node:crypto";
import { existsSync, lstatSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { removeFolder } from "../sandboxes/folders.ts";
import type { Access } from "./access.ts";
import type { Address } from "./address.ts";
import { explainGit } from "./complaint.ts";
import { type GitOptions, type GitResult, git } from "./git.ts";
import type { Listing } from "./listing.ts";
import type { Lock } from "./lock.ts";

const LOCAL_MS = 10 * 60_000;
const MANY_PACKS = 20;
const DAY_MS = 24 * 3_600_000;
const keepRefs = "refs/outrider/keep";

/** What git says of its own objects, not of those at the other end. */
const broken =
  /bad object|is corrupt|is empty$|unable to read|cannot be accessed|missing (?:blob|tree|commit)|bad tree/im;

/** What is on the disk is not what was written there; it can be fetched again. */
export class BrokenMirrorError extends Error {
  override name = "BrokenMirrorError";
}

export interface Limits {
  fetchMs: number;
  maxBytes: number;
}

export interface MirrorOptions {
  folder: string;
  scratch: string;
  lock: Lock;
  signal: AbortSignal;
}

/**
 * A bare repository of ours with the branches and tags of another. Objects come first and refs after, so that it is
 * whole at every moment, whatever kills git. All that is done here is done under the mirror's lock.
 */
export class Mirror {
  readonly folder: string;
  private readonly options: MirrorOptions;

  private constructor(options: MirrorOptions) {
    this.folder = options.folder;
    this.options = options;
  }

  /** Takes up a mirror, which is made where there is none: beside its place first, so that no half of one stands there. */
  static async open(options: MirrorOptions & { objectFormat: string }): Promise<Mirror> {
    const mirror = new Mirror(options);
    if (existsSync(options.folder)) {
      removeLeftovers(options.folder);
      return mirror;
    }
    const beside = join(options.scratch, randomUUID());
    // The mode for all: sandboxes read mirrors under another uid, and who gets as far is decided above the mirror.
    const init = ["init", "--quiet", "--bare", "--template=", "--shared=0644"];
    await mirror.run(
      [...init, `--object-format=${options.objectFormat}`, "--initial-branch=main", beside],
      {},
      [],
    );
    renameSync(beside, options.folder);
    return mirror;
  }

  static existing(options: MirrorOptions): Mirror {
    return new Mirror(options);
  }

  /** Whether branches and tags are those of the listing. */
  async isCurrent({ refs }: Listing): Promise<boolean> {
    const format = "--format=%(objectname)\t%(refname)";
    const lines = (await this.run(["for-each-ref", format, "refs/heads", "refs/tags"])).split("\n");
    const own = lines.filter((line) => line !== "").sort();
    const theirs = [...refs].filter(([name]) => /^refs\/(?:heads|tags)\//.test(name));
    return (
      own.join("\n") ===
      theirs
        .map(([name, object]) => `${object}\t${name}`)
        .sort()
        .join("\n")
    );
  }

  /** Brings branches and tags to where they are now, and what is named besides. Only what is missing travels. */
  async fetch(options: {
    address: Address;
    access: Access;
    limits: Limits;
    /** One thing besides: a ref elsewhere than among branches and tags, or a commit that none of them reaches. */
    also?: { source: string; commit: string } | undefined;
    onProgress?: ((text: string) => void) | undefined;
  }): Promise<void> {
    const { address, limits, also } = options;
    const { lock, signal } = this.options;
    const flags = ["--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--progress"];
    const all = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
    const names = also ? [`+${also.source}:${keepRef(also.commit)}`] : all;
    if (!also) flags.push("--prune");
    const result = await git({
      args: [
        "--git-dir",
        this.folder,
        "fetch",
        ...flags,
        ...uploadPack(address),
        "--",
        address.url,
        ...names,
      ],
      access: options.access,
      lock: lock.file,
      signal,
      timeoutMs: limits.fetchMs,
      watch: () => (packBytes(this.folder) > limits.maxBytes ? "size" : undefined),
      ...(options.onProgress ? { onProgress: options.onProgress } : {}),
    });
    removeLeftovers(this.folder);
    if (broken.test(result.complaint)) throw failed("A mirror cannot be fetched", result);
    if (!result.ok) throw explainGit(address, result);
    await this.joinPacks();
  }

  /** The commits that may be meant, as far as the mirror has all that belongs to them. */
  async find(beginning: string): Promise<string[]> {
    const all = await this.run(["rev-parse", `--disambiguate=${beginning}`]);
    const types = await this.run(["cat-file", "--batch-check=%(objecttype) %(objectname)"], { stdin: all });
    const commits = types
      .split("\n")
      .flatMap((line) => /^commit (.+)$/.exec(line)?.[1] ?? [])
      .slice(0, 5);
    const whole = await Promise.all(commits.map((commit) => this.isWhole(commit)));
    return commits.filter((_, index) => whole[index]);
  }

  async has(commit: string): Promise<boolean> {
    const { stdout } = await this.tryRun(["cat-file", "-t", commit]);
    return stdout.trim() === "commit";
  }

  /** Out of its place in one step. */
  async remove(): Promise<void> {
    const beside = join(this.options.scratch, randomUUID());
    renameSync(this.folder, beside);
    await removeFolder(beside);
  }

  /** What was resolved stays for some days, even if its branch moves on or goes: a build may still stand on it. */
  async keep(commit: string, head: string | undefined): Promise<void> {
    await this.run(["update-ref", keepRef(commit), commit]);
    if (head) await this.tryRun(["symbolic-ref", "HEAD", head]); // its name may be one that our git does not take
  }

  /** Forgets what was last resolved so many days ago, and drops the objects that nothing else holds. */
  async expire(days: number): Promise<void> {
    const before = dayOf(Date.now() - days * DAY_MS);
    const names = (await this.run(["for-each-ref", "--format=%(refname)", keepRefs])).split("\n");
    const old = names.filter((name) => name !== "" && (name.split("/")[3] ?? "") < before);
    if (old.length === 0) return;
    await this.run(["update-ref", "--stdin"], { stdin: old.map((name) => `delete ${name}\n`).join("") });
    await this.run(["gc", "--quiet", "--prune=now"]);
  }

  async run(
    args: string[],
    options: Pick<GitOptions, "stdin" | "onOutput"> = {},
    place = ["--git-dir", this.folder],
  ): Promise<string> {
    const result = await this.tryRun(args, options, place);
    if (!result.ok) throw failed(`git ${args[0]} failed in a mirror`, result);
    return result.stdout;
  }

  private tryRun(
    args: string[],
    options: Pick<GitOptions, "stdin" | "onOutput"> = {},
    place = ["--git-dir", this.folder],
  ) {
    const { lock, signal } = this.options;
    return git({ args: [...place, ...args], lock: lock.file, signal, timeoutMs: LOCAL_MS, ...options });
  }

  /** A fetch that was broken off can leave objects without those they need. */
  private async isWhole(commit: string): Promise<boolean> {
    return (await this.tryRun(["rev-list", "--objects", "--quiet", commit, "--not", "--all"])).ok;
  }

  /** Each fetch adds a pack, and many of them are slow to read. This one never drops an object. */
  private async joinPacks(): Promise<void> {
    const packs = readdirSync(join(this.folder, "objects/pack")).filter((name) => name.endsWith(".pack"));
    if (packs.length > MANY_PACKS) await this.run(["repack", "-d", "-q", "--geometric=2"]);
  }
}

/**
 * A repository on this disk may belong to someone else, and git then refuses it unless told so, which has to be told
 * to the program that reads it. The operator has allowed its folder.
 */
export function uploadPack({ kind }: Address): string[] {
  return kind === "file" ? ["--upload-pack=git -c safe.directory=* upload-pack"] : [];
}

export function packBytes(folder: string): number {
  const packs = join(folder, "objects/pack");
  if (!existsSync(packs)) return 0;
  const sizes = readdirSync(packs).map(
    (name) => lstatSync(join(packs, name), { throwIfNoEntry: false })?.size ?? 0,
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Whoever has the lock knows that no other git is at work here, so these are of one that was killed. */
function removeLeftovers(folder: string): void {
  const packs = join(folder, "objects/pack");
  for (const name of readdirSync(packs)) if (name.startsWith("tmp_")) rmSync(join(packs, name));
  const refs = readdirSync(join(folder, "refs"), { recursive: true, encoding: "utf8" });
  const locks = [...readdirSync(folder), ...refs.map((name) => join("refs", name))].filter((name) =>
    name.endsWith(".lock"),
  );
  for (const name of locks) rmSync(join(folder, name), { force: true });
}

function failed(what: string, { ended, complaint }: GitResult): Error {
  const message = `${what}: ${(ended ?? complaint).slice(0, 1_000)}`;
  return ended || /no space left/i.test(complaint) ? new Error(message) : new BrokenMirrorError(message);
}

function keepRef(commit: string): string {
  return `${keepRefs}/${dayOf(Date.now())}/${commit}`;
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
