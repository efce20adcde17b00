import { posix } from "node:path";
import { StringDecoder } from "node:string_decoder";
import type { StagedCommits } from "@outrider/contract/worker/publication";
import { mirrorRefs, type Outbox } from "./outbox.ts";
import { PublishingError } from "./publishing-error.ts";
import { readSmallObjects } from "./read-objects.ts";

export interface ChangeLimits {
  commits: number;
  objects: number;
  /** The largest object. Most forges reject files of 100 MiB. */
  objectBytes: number;
  /** All new objects, uncompressed. */
  totalBytes: number;
  /** Each command of git that reads the new objects. */
  commandMs: number;
}

export const defaultChangeLimits: ChangeLimits = {
  commits: 2_000,
  objects: 200_000,
  objectBytes: 100 * 10 ** 6,
  totalBytes: 512 * 2 ** 20,
  commandMs: 2 * 60_000,
};

const MAX_FILES = 5_000;
const MAX_PATH_CHARACTERS = 4_096;
const MAX_LISTING_BYTES = 64 * 2 ** 20;
const MAX_DIFF_BYTES = 256 * 2 ** 20;
const MAX_PROBLEMS = 20;
const MAX_TARGET_BYTES = 4_096;
/** A pointer to a Git LFS file is shorter. */
const MAX_POINTER_BYTES = 1_024;
const pointerStart = "version https://git-lfs.github.com/spec/v1\n";

type StagedFile = StagedCommits["files"][number];

export interface NewObject {
  id: string;
  type: string;
  size: number;
}

/** What the commits of a run add to the remote repository. */
export interface Changes {
  /** The new commits, parents first. */
  commits: string[];
  /** The arguments for git that name the new commits. */
  range: string[];
  /** The commits of the remote on which the new ones are based. */
  boundary: string[];
  /** The commit that files are compared with: the last one that the tip and the base branch have in common. */
  from: string;
  objects: NewObject[];
  files: StagedFile[];
  hasMoreFiles: boolean;
  diffBytes: number;
  problems: string[];
}

interface ListOptions {
  tip: string;
  /** The commit that the run started from. */
  base: string;
  /** The branch that the run's branch will be merged into. */
  baseBranch?: string | undefined;
  /** The run's own branch. What it has on the remote is not old, because it can be removed there. */
  branch: string;
  limits: ChangeLimits;
}

/** Lists what the tip adds. Rejects with a PublishingError if the commits are incomplete, unrelated or too many. */
export async function listChanges(outbox: Outbox, options: ListOptions): Promise<Changes | undefined> {
  const { tip, base, branch, limits } = options;
  const range = [tip, "--not", base, `--exclude=refs/mirror/heads/${branch}`, mirrorRefs];
  const { commits, boundary } = await listCommits(outbox, range, limits);
  if (commits.length === 0) return undefined;
  const from = await findStart(outbox, { ...options, boundary });
  const objects = await listObjects(outbox, range, limits);
  const { files, hasMoreFiles, entries } = await listFiles(outbox, { from, tip, limits });
  const problems = [
    ...findLargeObjects(objects, limits),
    ...(await findLeavingLinks(outbox, entries)),
    ...(await findLfsPointers(outbox, entries, objects)),
  ];
  const diffBytes = await measureDiff(outbox, { from, tip, objects, limits });
  return {
    ...{ commits, range, boundary, from, objects, files, hasMoreFiles, diffBytes },
    problems: problems.slice(0, MAX_PROBLEMS),
  };
}

async function listCommits(outbox: Outbox, range: string[], { commits: max, commandMs }: ChangeLimits) {
  const commits: string[] = [];
  const boundary: string[] = [];
  const args = ["rev-list", "--topo-order", "--boundary", `--max-count=${max + 1}`, ...range];
  const lines = (await outbox.run(args, { timeoutMs: commandMs })).split("\n").filter(Boolean);
  for (const line of lines) {
    if (line.startsWith("-")) boundary.push(line.slice(1));
    else commits.push(line);
  }
  if (commits.length > max) {
    throw new PublishingError(
      "too_large",
      `The branch has more than ${max} new commits. Squash them, or base the branch on a newer commit of the remote repository.`,
    );
  }
  return { commits: commits.reverse(), boundary };
}

/** Returns the commit with which a pull request would compare the tip. */
async function findStart(
  outbox: Outbox,
  { tip, base, baseBranch, boundary }: ListOptions & { boundary: string[] },
): Promise<string> {
  const branchRef = `refs/mirror/heads/${baseBranch}`;
  const hasBranch = baseBranch !== undefined && (await outbox.typeOf(branchRef)) === "commit";
  const { stdout } = await outbox.tryRun(["merge-base", tip, base, ...(hasBranch ? [branchRef] : [])]);
  const [from = boundary[0]] = stdout.split("\n").filter(Boolean);
  if (from) return from;
  throw new PublishingError(
    "unrelated_history",
    "The commits share no history with the remote repository. Create them again on the commit that the run started from, for example with `git rebase --onto`.",
  );
}

/** Lists the new objects. git fails if one of them is missing. */
async function listObjects(outbox: Outbox, range: string[], limits: ChangeLimits): Promise<NewObject[]> {
  const missing = outbox.isPartial ? "--missing=allow-promisor" : "--missing=error";
  let lines = 0;
  const listing: Buffer[] = [];
  const isTooLong = () => lines > limits.objects;
  const result = await outbox.tryRun(["rev-list", "--objects", "--no-object-names", missing, ...range], {
    timeoutMs: limits.commandMs,
    checkEverySecond: () => (isTooLong() ? "objects" : undefined),
    onOutput(data) {
      for (const byte of data) if (byte === 10) lines++;
      if (!isTooLong()) listing.push(data);
    },
  });
  if (isTooLong()) {
    throw new PublishingError(
      "too_large",
      `The new commits have more than ${limits.objects} files and folders. Remove generated files from all of them.`,
    );
  }
  if (!result.ok) {
    throw new PublishingError(
      "invalid_commits",
      "The new commits refer to objects that are missing or damaged. Run `git fsck` in the repository, and create the commits again.",
    );
  }
  // A partial repository lists objects that it lacks.
  const format = "--batch-check=%(objectname) %(objecttype) %(objectsize)";
  const sizes = await outbox.run(["cat-file", format, "--buffer"], {
    stdin: Buffer.concat(listing).toString("latin1"),
    timeoutMs: limits.commandMs,
  });
  const objects = sizes.split("\n").flatMap((line) => {
    const [id = "", type = "", size = ""] = line.split(" ");
    return /^\d+$/.test(size) ? [{ id, type, size: Number(size) }] : [];
  });
  const total = objects.reduce((sum, { size }) => sum + size, 0);
  if (total <= limits.totalBytes) return objects;
  throw new PublishingError(
    "too_large",
    `The new commits have ${toMebibytes(total)} of files, and at most ${toMebibytes(limits.totalBytes)} can be published. Remove large files from all of them, not only from the last one.`,
  );
}

function findLargeObjects(objects: NewObject[], { objectBytes }: ChangeLimits): string[] {
  const largest = Math.max(...objects.map(({ size }) => size));
  if (largest <= objectBytes) return [];
  return [
    `A new file has ${toMebibytes(largest)}, and at most ${toMebibytes(objectBytes)} can be published. Remove it from all new commits, not only from the last one.`,
  ];
}

/** An entry of `git diff-tree --raw`. */
interface RawEntry {
  path: string;
  status: string;
  mode: string;
  id: string;
}

async function listFiles(
  outbox: Outbox,
  { from, tip, limits }: { from: string; tip: string; limits: ChangeLimits },
) {
  const entries: RawEntry[] = [];
  let count = 0;
  const isComplete = await readRawDiff(
    outbox,
    ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--full-index", from, tip],
    limits,
    (entry) => {
      count++;
      if (entries.length < MAX_FILES) entries.push(entry);
    },
  );
  const files = entries.map(({ path, status, mode }): StagedFile => {
    const kind = mode === "120000" ? "symlink" : mode === "160000" ? "submodule" : undefined;
    const name = status === "A" ? "added" : status === "D" ? "deleted" : "modified";
    return { path: path.slice(0, MAX_PATH_CHARACTERS), status: name, ...(kind ? { kind } : {}) };
  });
  return { files, entries, hasMoreFiles: count > MAX_FILES || !isComplete };
}

/**
 * Parses the output of a command with `--raw -z`. Lines that are not entries are passed to `onText`. Returns false if the
 * output is too long; the rest is then not read.
 */
export async function readRawDiff(
  outbox: Outbox,
  args: string[],
  { commandMs }: Pick<ChangeLimits, "commandMs">,
  onEntry: (entry: RawEntry) => void,
  onText: (text: string) => void = () => {},
): Promise<boolean> {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  let bytes = 0;
  let header: string[] | undefined;
  const isTooLong = () => bytes > MAX_LISTING_BYTES;
  const read = (field: string) => {
    if (!header) {
      // `git log` prints a line break between a commit and its first entry.
      const text = field.trim();
      if (text.startsWith(":")) header = text.slice(1).split(" ");
      else if (text !== "") onText(text);
    } else {
      const [oldMode = "", newMode = "", oldId = "", newId = "", status = ""] = header;
      header = undefined;
      // A deleted file has the mode and the id that it had.
      const isDeleted = status === "D";
      onEntry({
        path: field,
        status: status.slice(0, 1),
        mode: isDeleted ? oldMode : newMode,
        id: isDeleted ? oldId : newId,
      });
    }
  };
  const result = await outbox.tryRun(args, {
    timeoutMs: commandMs,
    checkEverySecond: () => (isTooLong() ? "listing" : undefined),
    onOutput(data) {
      bytes += data.length;
      if (isTooLong()) return;
      const fields = (rest + decoder.write(data)).split("\0");
      rest = fields.pop() ?? "";
      for (const field of fields) read(field);
    },
  });
  if (!result.ok && !isTooLong()) {
    throw new PublishingError(
      "invalid_commits",
      "The changes of the new commits cannot be read. Run `git fsck` in the repository, and create the commits again.",
    );
  }
  return !isTooLong();
}

async function findLeavingLinks(outbox: Outbox, entries: RawEntry[]): Promise<string[]> {
  const links = entries.filter(({ mode, status }) => mode === "120000" && status !== "D");
  const ids = links.map(({ id }) => id);
  const targets = await readSmallObjects(outbox, ids, { maxBytes: MAX_TARGET_BYTES });
  return links.flatMap(({ path, id }) => {
    const target = targets.get(id)?.toString();
    if (target !== undefined && !leavesRepository(path, target)) return [];
    return [`The symbolic link ${quotePath(path)} points outside of the repository. Remove it.`];
  });
}

/** Resolves a link's target by its text alone. Other links on the way are checked themselves. */
export function leavesRepository(path: string, target: string): boolean {
  if (target.startsWith("/")) return true;
  const resolved = posix.normalize(posix.join(posix.dirname(path), target));
  return resolved === ".." || resolved.startsWith("../") || /(?:^|\/)\.git(?:\/|$)/i.test(resolved);
}

async function findLfsPointers(outbox: Outbox, entries: RawEntry[], objects: NewObject[]): Promise<string[]> {
  const small = new Set(
    objects.flatMap(({ id, type, size }) => (type === "blob" && size < MAX_POINTER_BYTES ? [id] : [])),
  );
  const candidates = entries.filter(({ id, mode }) => mode.startsWith("100") && small.has(id));
  const ids = candidates.map(({ id }) => id);
  const contents = await readSmallObjects(outbox, ids, { maxBytes: MAX_POINTER_BYTES });
  const isPointer = ({ id }: RawEntry) => {
    const content = contents.get(id)?.toString() ?? "";
    return content.startsWith(pointerStart) && /^oid sha256:/m.test(content);
  };
  const found = candidates.find(isPointer);
  if (!found) return [];
  return [
    `${quotePath(found.path)} is a Git LFS file that is new or changed. Outrider does not upload Git LFS files: remove it from the commits, or add it without Git LFS.`,
  ];
}

/** Returns the size of the patch. */
async function measureDiff(
  outbox: Outbox,
  { from, tip, objects, limits }: { from: string; tip: string; objects: NewObject[]; limits: ChangeLimits },
): Promise<number> {
  let bytes = 0;
  const result = await outbox.tryRun(
    ["diff-tree", "-r", "-p", "--binary", "--no-renames", "--no-ext-diff", "--no-textconv", from, tip],
    {
      timeoutMs: limits.commandMs,
      checkEverySecond: () => (bytes > MAX_DIFF_BYTES ? "diff" : undefined),
      onOutput: (data) => {
        bytes += data.length;
      },
    },
  );
  if (result.ok || bytes > MAX_DIFF_BYTES) return bytes;
  // The diff takes too long, or needs a file that a partial mirror lacks.
  return objects.reduce((sum, { size }) => sum + size, 0);
}

export function quotePath(path: string): string {
  return `\`${path.slice(0, 300).replaceAll(/[\p{Cc}`]/gu, "?")}\``;
}

function toMebibytes(bytes: number): string {
  return `${Math.ceil(bytes / 2 ** 20)} MiB`;
}
