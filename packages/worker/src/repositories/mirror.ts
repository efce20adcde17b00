/**
 * A mirror: a bare repository in the worker's cache with the branches and tags of a remote repository. Checkouts get
 * its content, so that a repository is downloaded once per worker and updates transfer only what is missing.
 *
 * Layout: `refs/heads/*` and `refs/tags/*` match the remote's as of the last fetch. Every resolved commit has a ref
 * `refs/outrider/keep/DAY/COMMIT`. It protects the commit from garbage collection for several days, because a build may
 * still need it after its branch has moved. `lfs/` contains Git LFS files (lfs/lfs-store.ts).
 *
 * A partial mirror has only some of the remote's files, if the remote supports that. Its packs are marked by `.promisor`
 * files.
 *
 * Invariants:
 * - Every method runs under the mirror's lock (lock.ts). git inherits the lock, so a git process that outlives its
 *   worker still excludes others.
 * - The repository is consistent at every moment: git writes objects before refs, and a new mirror is created in the
 *   scratch folder and then renamed.
 * - The remote's hooks, filters and settings never take effect, and nothing is checked out on the host (git.ts).
 * - A mirror is only a cache. Damage raises a BrokenMirrorError; the caller removes the mirror and fetches it again.
 */
import { randomUUID } from "node:crypto";
import { existsSync, lstatSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { removeFolder } from "../remove-folder.ts";
import type { Access } from "./access.ts";
import type { Address } from "./address.ts";
import { type GitOptions, type GitResult, git } from "./git.ts";
import { explainGitError, lastErrorLines } from "./git-error.ts";
import type { Lock } from "./lock.ts";
import type { RefListing } from "./ref-listing.ts";
import { uploadPackArgs } from "./upload-pack.ts";

const LOCAL_TIMEOUT_MS = 10 * 60_000;
const MAX_PACKS = 20;
const DAY_MS = 24 * 3_600_000;
const keepRefPrefix = "refs/outrider/keep";
/**
 * The name of the remote from which git fetches into a partial mirror. Only the commands that must accept missing objects
 * know it. Otherwise, git would try to fetch a missing object whenever a command asks for one.
 */
const partialRemote = "mirror";
const partialArgs = ["-c", `remote.${partialRemote}.promisor=true`];

/** Matches git errors about objects in the mirror rather than in the remote. */
const corruption =
  /bad object|is corrupt|is empty$|unable to read|cannot be accessed|missing (?:blob|tree|commit)|bad tree/im;

/** Thrown when the mirror is damaged. The caller can remove it and fetch it again. */
export class BrokenMirrorError extends Error {
  override name = "BrokenMirrorError";
}

export interface Limits {
  fetchMs: number;
  maxBytes: number;
  /** The maximum number of branches and tags. Each is a file in the mirror. */
  maxRefs: number;
  maxMemoryBytes?: number;
}

type RunOptions = Pick<GitOptions, "stdin" | "onOutput" | "checkEverySecond" | "env">;

export interface MirrorOptions {
  folder: string;
  scratch: string;
  lock: Lock;
  signal: AbortSignal;
}

export class Mirror {
  readonly folder: string;
  readonly #options: MirrorOptions;

  private constructor(options: MirrorOptions) {
    this.folder = options.folder;
    this.#options = options;
  }

  /** Opens a mirror. Creates it if it does not exist. */
  static async open(options: MirrorOptions & { objectFormat: string }): Promise<Mirror> {
    const mirror = new Mirror(options);
    if (existsSync(options.folder)) {
      removeLeftovers(options.folder);
      return mirror;
    }
    const draft = join(options.scratch, randomUUID());
    const init = ["init", "--quiet", "--bare", "--template="];
    await mirror.run(
      [...init, `--object-format=${options.objectFormat}`, "--initial-branch=main", draft],
      {},
      [],
    );
    renameSync(draft, options.folder);
    return mirror;
  }

  static openExisting(options: MirrorOptions): Mirror {
    return new Mirror(options);
  }

  /** Returns whether the mirror's branches and tags match the listing. */
  async isCurrent({ refs }: RefListing): Promise<boolean> {
    const format = "--format=%(objectname)\t%(refname)";
    const lines = (await this.run(["for-each-ref", format, "refs/heads", "refs/tags"])).split("\n");
    const localRefs = lines.filter((line) => line !== "").sort();
    const remoteRefs = [...refs]
      .filter(([name]) => /^refs\/(?:heads|tags)\//.test(name))
      .map(([name, object]) => `${object}\t${name}`)
      .sort();
    return localRefs.join("\n") === remoteRefs.join("\n");
  }

  /** Updates all branches and tags, or fetches only `extra`. */
  async fetch(options: {
    address: Address;
    access: Access;
    allowedPaths: string[];
    limits: Limits;
    /** A ref other than a branch or tag, or a commit that no branch or tag contains. */
    extra?: { source: string; commit: string } | undefined;
    /** Whether to fetch no file contents, if the server supports that. */
    partial?: boolean;
    /** Fetches only these objects, into a partial mirror. */
    objects?: string[];
    onProgress?: ((text: string) => void) | undefined;
  }): Promise<void> {
    const { address, limits, extra, partial, objects } = options;
    const { lock, signal } = this.#options;
    const flags = ["--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--progress"];
    const allRefs = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
    const refspecs = extra ? [`+${extra.source}:${keepRef(extra.commit)}`] : allRefs;
    if (!extra && !objects) flags.push("--prune");
    if (partial) flags.push("--filter=blob:none");
    if (objects) flags.push("--stdin");
    const result = await git({
      args: [
        "--git-dir",
        this.folder,
        ...(partial ? [...partialArgs, "-c", `remote.${partialRemote}.url=${address.url}`] : []),
        // Without this, git would send the ids of the commits that the mirror has, which say nothing about files.
        ...(objects ? ["-c", "fetch.negotiationAlgorithm=noop"] : []),
        "fetch",
        ...flags,
        ...uploadPackArgs(address, options.allowedPaths),
        "--",
        partial ? partialRemote : address.url,
        ...(objects ? [] : refspecs),
      ],
      ...(objects ? { stdin: objects.map((id) => `${id}\n`).join("") } : {}),
      access: options.access,
      lock: lock.file,
      signal,
      timeoutMs: limits.fetchMs,
      ...(limits.maxMemoryBytes ? { maxMemoryBytes: limits.maxMemoryBytes } : {}),
      checkEverySecond: () => (packBytes(this.folder) > limits.maxBytes ? "size" : undefined),
      ...(options.onProgress ? { onProgress: options.onProgress } : {}),
    });
    removeLeftovers(this.folder);
    if (partial) await this.#tryRun(["config", "--remove-section", `remote.${partialRemote}`]);
    if (corruption.test(result.stderr)) {
      // The damage may be in the mirror or in what the remote sent.
      const cause = result.ok ? undefined : explainGitError(address, result);
      throw mirrorError("Failed to fetch into a mirror", result, cause);
    }
    if (!result.ok) throw explainGitError(address, result);
    await this.#repackIfNeeded();
  }

  /** Returns the complete commits whose id starts with the prefix. */
  async findCommits(prefix: string): Promise<string[]> {
    const objects = await this.run(["rev-parse", `--disambiguate=${prefix}`]);
    const types = await this.run(["cat-file", "--batch-check=%(objecttype) %(objectname)"], {
      stdin: objects,
    });
    const commits = types
      .split("\n")
      .flatMap((line) => /^commit (.+)$/.exec(line)?.[1] ?? [])
      .slice(0, 5);
    const complete = await Promise.all(commits.map((commit) => this.#isComplete(commit)));
    return commits.filter((_, index) => complete[index]);
  }

  /** Returns the full name of the default branch, or an empty string. */
  async defaultBranch(): Promise<string> {
    return (await this.#tryRun(["symbolic-ref", "--quiet", "HEAD"])).stdout.trim();
  }

  /** Returns which of the objects the mirror does not have. */
  async findMissing(objects: string[]): Promise<string[]> {
    const lines = await this.run(["cat-file", "--batch-check=%(objectname)"], {
      stdin: objects.map((id) => `${id}\n`).join(""),
    });
    return lines.split("\n").flatMap((line) => /^([0-9a-f]+) missing$/.exec(line)?.[1] ?? []);
  }

  async hasCommit(commit: string): Promise<boolean> {
    const { stdout } = await this.#tryRun(["cat-file", "-t", commit]);
    return stdout.trim() === "commit";
  }

  /** Removes the mirror. Renames it first, which takes it out of use atomically. */
  async remove(): Promise<void> {
    const removed = join(this.#options.scratch, randomUUID());
    renameSync(this.folder, removed);
    await removeFolder(removed);
  }

  /** Protects a commit from garbage collection for several days, and sets the default branch. */
  async keep(commit: string, head: string | undefined): Promise<void> {
    await this.run(["update-ref", keepRef(commit), commit]);
    if (head) await this.#tryRun(["symbolic-ref", "HEAD", head]); // the installed git may reject the branch's name
  }

  /** Ends the protection of commits that were last resolved more than `days` days ago, and collects garbage. */
  async expire(days: number): Promise<void> {
    const before = dayOf(Date.now() - days * DAY_MS);
    const names = (await this.run(["for-each-ref", "--format=%(refname)", keepRefPrefix])).split("\n");
    const expired = names.filter((name) => name !== "" && (name.split("/")[3] ?? "") < before);
    if (expired.length === 0) return;
    await this.run(["update-ref", "--stdin"], { stdin: expired.map((name) => `delete ${name}\n`).join("") });
    await this.run([...this.#maintenanceArgs(), "gc", "--quiet", "--prune=now"]);
  }

  async run(
    args: string[],
    options: RunOptions = {},
    gitDirArgs = ["--git-dir", this.folder],
  ): Promise<string> {
    const result = await this.#tryRun(args, options, gitDirArgs);
    if (!result.ok) throw mirrorError(`git ${args[0]} failed in a mirror`, result);
    return result.stdout;
  }

  #tryRun(args: string[], options: RunOptions = {}, gitDirArgs = ["--git-dir", this.folder]) {
    const { lock, signal } = this.#options;
    return git({
      args: [...gitDirArgs, ...args],
      lock: lock.file,
      signal,
      timeoutMs: LOCAL_TIMEOUT_MS,
      ...options,
    });
  }

  /** Returns whether the mirror has every object that a commit refers to. An interrupted fetch can leave some out. */
  async #isComplete(commit: string): Promise<boolean> {
    return (await this.#tryRun(["rev-list", "--objects", "--quiet", commit, "--not", "--all"])).ok;
  }

  /**
   * Merges packs if there are many: each fetch adds one, and reading many packs is slow. This repack never drops an
   * object.
   */
  async #repackIfNeeded(): Promise<void> {
    const packs = readdirSync(join(this.folder, "objects/pack")).filter((name) => name.endsWith(".pack"));
    if (packs.length <= MAX_PACKS) return;
    const args = this.#maintenanceArgs();
    await this.run([...args, "repack", "-d", "-q", args.length > 0 ? "-a" : "--geometric=2"]);
  }

  /** In a partial mirror, every pack has a file that says so. */
  #maintenanceArgs(): string[] {
    const names = readdirSync(join(this.folder, "objects/pack"));
    return names.some((name) => name.endsWith(".promisor")) ? partialArgs : [];
  }
}

export function packBytes(folder: string): number {
  const packs = join(folder, "objects/pack");
  if (!existsSync(packs)) return 0;
  const sizes = readdirSync(packs).map(
    (name) => lstatSync(join(packs, name), { throwIfNoEntry: false })?.size ?? 0,
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/**
 * Removes the temporary files of a killed git process. The caller holds the lock, so no other git process is using the
 * mirror.
 */
function removeLeftovers(folder: string): void {
  const packs = join(folder, "objects/pack");
  for (const name of readdirSync(packs)) if (name.startsWith("tmp_")) rmSync(join(packs, name));
  const refs = readdirSync(join(folder, "refs"), { recursive: true, encoding: "utf8" });
  const locks = [...readdirSync(folder), ...refs.map((name) => join("refs", name))].filter((name) =>
    name.endsWith(".lock"),
  );
  for (const name of locks) rmSync(join(folder, name), { force: true });
}

function mirrorError(problem: string, { endReason, stderr }: GitResult, cause?: Error): Error {
  const message = `${problem}: ${endReason ?? lastErrorLines(stderr)}`;
  if (endReason || /no space left|out of memory/i.test(stderr)) return new Error(message, { cause });
  return new BrokenMirrorError(message, { cause });
}

function keepRef(commit: string): string {
  return `${keepRefPrefix}/${dayOf(Date.now())}/${commit}`;
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
