/**
 * An outbox: a bare repository on the host that holds the commits of one staging or one push. It is created in the scratch
 * folder of the mirror cache and removed afterwards.
 *
 * It has the objects of the mirror as hard links to the mirror's packs, in a folder of their own to which git's alternates
 * refer. Another run may therefore fetch into the mirror, repack or remove it at the same time. The mirror's branches and
 * tags are below `refs/mirror/`: what they contain is already on the remote. Only new objects are in the outbox itself.
 *
 * Commits come from a sandbox and may be hostile. `ingest` therefore limits size, time and memory, and checks every object.
 * Nothing is checked out, and hooks, filters, attributes, replacement objects and settings of the repository never take
 * effect (see git.ts).
 */
import { randomUUID } from "node:crypto";
import { appendFileSync, linkSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { removeFolder } from "../remove-folder.ts";
import { type GitOptions, type GitResult, git } from "../repositories/git.ts";
import { lastErrorLines } from "../repositories/git-error.ts";
import type { Mirror } from "../repositories/mirror.ts";
import { PublishingError } from "./publishing-error.ts";

const COMMAND_MS = 60_000;
const INGEST_MS = 5 * 60_000;
/** A few kilobytes of a hostile pack can expand to any size. */
const MAX_MEMORY_BYTES = 2 ** 30;
const packFile = /^pack-[0-9a-f]{40,64}\.(?:pack|idx|rev|promisor)$/;
export const commitId = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** The refs of the mirror, which are on the remote. */
export const mirrorRefs = "--glob=refs/mirror/*";

type RunOptions = Partial<
  Pick<
    GitOptions,
    | "stdin"
    | "onOutput"
    | "readOutput"
    | "checkEverySecond"
    | "env"
    | "access"
    | "timeoutMs"
    | "maxMemoryBytes"
  >
>;

export interface OutboxOptions {
  /** The mirror, whose lock the caller holds. */
  mirror: Mirror;
  scratch: string;
  objectFormat: string;
  /** Aborts the commands that run in the outbox. */
  signal: AbortSignal;
}

export class Outbox implements AsyncDisposable {
  readonly folder: string;
  /** Whether the mirror lacks files, so that commits may refer to files that are only on the remote. */
  readonly isPartial: boolean;
  readonly signal: AbortSignal;

  private constructor(folder: string, { isPartial, signal }: { isPartial: boolean; signal: AbortSignal }) {
    this.folder = folder;
    this.isPartial = isPartial;
    this.signal = signal;
  }

  static async create({ mirror, scratch, objectFormat, signal }: OutboxOptions): Promise<Outbox> {
    const folder = join(scratch, `outbox-${randomUUID()}`);
    const packs = readdirSync(join(mirror.folder, "objects/pack")).filter((name) => packFile.test(name));
    const isPartial = packs.some((name) => name.endsWith(".promisor"));
    const outbox = new Outbox(folder, { isPartial, signal });
    try {
      const init = ["init", "--quiet", "--bare", "--template=", `--object-format=${objectFormat}`];
      const result = await git({
        args: [...init, "--initial-branch=main", folder],
        signal,
        timeoutMs: COMMAND_MS,
      });
      if (!result.ok) throw new Error(`Failed to create an outbox: ${result.endReason ?? result.stderr}`);
      outbox.#borrow(mirror.folder, packs);
      const format = "--format=%(objectname) %(refname)";
      const refs = await mirror.run(["for-each-ref", format, "refs/heads", "refs/tags"]);
      const lines = refs.split("\n").filter(Boolean).map(toMirrorRef);
      writeFileSync(join(folder, "packed-refs"), `# pack-refs with: sorted \n${lines.join("")}`);
      return outbox;
    } catch (error) {
      await outbox.remove();
      throw error;
    }
  }

  /**
   * Adds a pack. Its objects must be valid, and must refer only to each other and to objects of the mirror. Rejects with a
   * PublishingError if they do not, or if the pack is too large. A thin pack has differences to objects of the mirror.
   */
  async ingest(
    pack: Readable,
    {
      maxBytes,
      isThin = false,
      timeoutMs = INGEST_MS,
    }: { maxBytes: number; isThin?: boolean; timeoutMs?: number },
  ): Promise<void> {
    // With a partial mirror, folders may refer to files that are only on the remote. `checkConnected` allows for that.
    const check = this.isPartial ? "--fsck-objects" : "--strict";
    const result = await this.tryRun(
      [
        ...["index-pack", check, "--stdin", `--max-input-size=${maxBytes}`],
        ...(isThin ? ["--fix-thin"] : []),
      ],
      {
        stdin: pack,
        timeoutMs,
        maxMemoryBytes: MAX_MEMORY_BYTES,
      },
    );
    if (result.ok) return;
    for (const name of readdirSync(join(this.folder, "objects/pack"))) {
      if (name.startsWith("tmp_")) rmSync(join(this.folder, "objects/pack", name), { force: true });
    }
    throw ingestError(result, maxBytes);
  }

  /** Returns the type of an object, or undefined if the outbox does not have it. */
  async typeOf(object: string): Promise<string | undefined> {
    const { ok, stdout } = await this.tryRun(["cat-file", "-t", object]);
    return ok ? stdout.trim() : undefined;
  }

  async run(args: string[], options: RunOptions = {}): Promise<string> {
    const result = await this.tryRun(args, options);
    if (result.ok) return result.stdout;
    throw new GitFailure(
      `git ${args[0]} failed: ${result.endReason ?? lastErrorLines(result.stderr)}`,
      result,
    );
  }

  tryRun(args: string[], options: RunOptions = {}): Promise<GitResult> {
    return git({
      args: [
        "--git-dir",
        this.folder,
        "--no-replace-objects",
        // Marks the objects that the mirror lacks as known to be on the remote. git contacts no remote of this name.
        ...(this.isPartial ? ["-c", "remote.mirror.promisor=true"] : []),
        ...["-c", "core.attributesFile=/dev/null", "-c", "core.logAllRefUpdates=false"],
        ...args,
      ],
      signal: this.signal,
      timeoutMs: COMMAND_MS,
      ...options,
    });
  }

  async remove(): Promise<void> {
    await removeFolder(this.folder);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.remove();
  }

  #borrow(mirrorFolder: string, packs: string[]) {
    const objects = join(this.folder, "mirror-objects");
    mkdirSync(join(objects, "pack"), { recursive: true, mode: 0o700 });
    // git finds a pack by its index, which is linked last.
    const ordered = packs.toSorted((a, b) => Number(a.endsWith(".idx")) - Number(b.endsWith(".idx")));
    for (const name of ordered)
      linkSync(join(mirrorFolder, "objects/pack", name), join(objects, "pack", name));
    mkdirSync(join(this.folder, "objects/info"), { recursive: true });
    appendFileSync(join(this.folder, "objects/info/alternates"), `${objects}\n`);
  }
}

/** A git command that failed for another reason than the one that its caller expects. */
export class GitFailure extends Error {
  override name = "GitFailure";
  readonly result: GitResult;

  constructor(message: string, result: GitResult) {
    super(message);
    this.result = result;
  }
}

function toMirrorRef(line: string): string {
  const [id = "", name = ""] = line.split(" ");
  return `${id} ${name.replace(/^refs\//, "refs/mirror/")}\n`;
}

function ingestError({ stderr, endReason }: GitResult, maxBytes: number): PublishingError {
  if (/exceeds maximum allowed size/.test(stderr)) {
    const limit = Math.floor(maxBytes / 2 ** 20);
    return new PublishingError(
      "too_large",
      `The new commits have more than ${limit} MiB. Remove large files from all of them, not only from the last one.`,
    );
  }
  if (endReason === "timeout" || /out of memory|memory exhausted|mmap failed|malloc/i.test(stderr)) {
    return new PublishingError(
      "too_large",
      "The new commits take too long or too much memory to check. Remove large or unusual files from all of them.",
    );
  }
  return new PublishingError(
    "invalid_commits",
    `The new commits are damaged or refer to objects that are missing: ${lastErrorLines(stderr) || "git gave no reason"}. Run \`git fsck\` in the repository, and create the commits again on a commit of the remote repository.`,
  );
}
