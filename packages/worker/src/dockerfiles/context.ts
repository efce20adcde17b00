/**
 * The files that COPY and ADD can use: a folder of the commit, without those that .dockerignore excludes. They are read
 * from the mirror as git stores them, without a checkout, filters or hooks, and sent to the sandbox as an archive.
 */
import { posix } from "node:path";
import type { Readable } from "node:stream";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { openCommit } from "../repositories/commit-reader.ts";
import { git } from "../repositories/git.ts";
import { listTree, type RunGit } from "../repositories/tree-contents.ts";
import { tarEnd, tarPadding } from "../tar-header.ts";
import { archiveHeader } from "./archive-header.ts";
import { hasWildcard, matchesPath, parseIgnoreFile } from "./patterns.ts";

const LIST_MS = 5 * 60_000;
const READ_MS = 60 * 60_000;
const MAX_IGNORE_BYTES = 64 * 1024;
const MAX_LINKS = 10;
const MAX_LINK_BYTES = 4_096;
/** How long paths are matched before other work gets its turn, and in total. */
const TURN_MS = 20;
const MAX_MATCHING_MS = 60_000;

interface ContextOptions {
  mirror: string;
  commit: string;
  /** The folder in the repository. */
  folder: string;
  /** The Dockerfile, whose own ignore file precedes that of the folder. */
  dockerfile: string;
  signal: AbortSignal;
}

/** A file or link of the commit. */
export interface ContextFile {
  path: string;
  id: string;
  mode: string;
}

/** A file with the name that it has in an archive. */
export interface ArchivedFile extends ContextFile {
  name: string;
}

export class Context {
  readonly #options: ContextOptions;
  readonly #files: Map<string, ContextFile>;
  readonly #folders: Set<string>;

  private constructor(options: ContextOptions, files: Map<string, ContextFile>) {
    this.#options = options;
    this.#files = files;
    this.#folders = new Set([...files.keys()].flatMap(parentsOf));
  }

  static async open(options: ContextOptions): Promise<Context> {
    const isIgnored = await readIgnoreFile(options);
    const { mirror, commit, folder, signal } = options;
    const listed: ContextFile[] = [];
    const run: RunGit = async (args, more) => {
      const all = ["--git-dir", mirror, "--no-replace-objects", ...args];
      const result = await git({ ...more, args: all, signal, timeoutMs: LIST_MS });
      if (!result.ok) throw new Error(`The repository has no folder ${folder} for the context.`);
      return result.stdout;
    };
    const tree = folder === "." ? commit : `${commit}:${folder}`;
    const isComplete = await listTree(run, { commit: tree }, ({ path, id, mode }) => {
      if (mode !== "160000") listed.push({ path, id, mode });
    });
    if (!isComplete) throw new Error("The context has too many files: choose a smaller folder in `context`.");
    const files = new Map<string, ContextFile>();
    const turns = new Turns();
    for (const file of listed) {
      if (turns.isOver()) await turns.next();
      if (!isIgnored(file.path)) files.set(file.path, file);
    }
    return new Context(options, files);
  }

  /** Returns the file or link at a path. */
  get(path: string): ContextFile | undefined {
    return this.#files.get(path);
  }

  /** Finds what a source of COPY means. A folder stands for its content. */
  async find(source: string): Promise<ArchivedFile[]> {
    const path = posix.normalize(`/${source}`).replace(/^\/+|\/+$/g, "");
    if (posix.normalize(source).startsWith("../"))
      throw new Error(`${shown(source)} is outside of the context, the folder ${this.#options.folder}.`);
    const matches = hasWildcard(path) ? await this.#match(path) : [path];
    const found = (await Promise.all(matches.map((match) => this.#findPath(match)))).flat();
    if (found.length > 0) return found;
    throw new Error(
      `${shown(source)} is not in the context, the folder ${this.#options.folder} of the repository, or .dockerignore excludes it.`,
    );
  }

  async #match(pattern: string): Promise<string[]> {
    const parts = pattern.split("/");
    const matches: string[] = [];
    const turns = new Turns();
    for (const path of [...this.#files.keys(), ...this.#folders]) {
      if (turns.isOver()) await turns.next();
      if (path !== "" && matchesPath(parts, path.split("/"))) matches.push(path);
    }
    return matches;
  }

  async #findPath(path: string, links = 0): Promise<ArchivedFile[]> {
    const file = this.#files.get(path);
    if (file?.mode === "120000" && links < MAX_LINKS) {
      const target = await this.#readSmall(file);
      const resolved = posix.normalize(posix.join("/", posix.dirname(path), target)).slice(1);
      const found = target.startsWith("/") ? [] : await this.#findPath(resolved, links + 1);
      return found.map((each) =>
        each.name.startsWith("./") ? each : { ...each, name: posix.basename(path) },
      );
    }
    if (file) return [{ ...file, name: posix.basename(path) }];
    if (!this.#folders.has(path)) return [];
    const prefix = path === "" ? "" : `${path}/`;
    return [...this.#files.values()]
      .filter((each) => each.path.startsWith(prefix))
      .map((each) => ({ ...each, name: `./${each.path.slice(prefix.length)}` }));
  }

  async #readSmall({ path }: ContextFile): Promise<string> {
    const { mirror, commit, folder, signal } = this.#options;
    const args = [
      "--git-dir",
      mirror,
      "--no-replace-objects",
      "cat-file",
      "blob",
      `${commit}:${posix.join(folder, path)}`,
    ];
    const result = await git({ args, signal, timeoutMs: LIST_MS });
    return result.stdout.slice(0, MAX_LINK_BYTES);
  }

  /** Streams the files as an archive. */
  async archive(
    files: ArchivedFile[],
    write: (archive: AsyncIterable<Buffer>) => Promise<void>,
  ): Promise<void> {
    await this.#readFiles(files, (stdout) => write(archiveOf(files, stdout)));
  }

  /** Streams one file as it is. */
  async content(file: ArchivedFile, write: (content: AsyncIterable<Buffer>) => Promise<void>): Promise<void> {
    await this.#readFiles([file], (stdout) => write(contentOf(file, stdout)));
  }

  async #readFiles(files: ArchivedFile[], readOutput: (stdout: Readable) => Promise<void>): Promise<void> {
    const { mirror, signal } = this.#options;
    const result = await git({
      args: ["--git-dir", mirror, "--no-replace-objects", "cat-file", "--batch"],
      ...{ signal, timeoutMs: READ_MS, readOutput },
      stdin: files.map(({ id }) => `${id}\n`).join(""),
    });
    if (!result.ok) throw new Error(`The repository cannot be read: ${result.endReason ?? result.stderr}`);
  }
}

/** Divides long work, so that the worker stays responsive. */
class Turns {
  #startedAt = performance.now();
  #usedMs = 0;

  isOver(): boolean {
    return performance.now() - this.#startedAt > TURN_MS;
  }

  async next(): Promise<void> {
    this.#usedMs += performance.now() - this.#startedAt;
    if (this.#usedMs > MAX_MATCHING_MS)
      throw new Error(
        "The context has too many files for these patterns: use fewer patterns, or a smaller folder.",
      );
    await yieldToOthers();
    this.#startedAt = performance.now();
  }
}

function parentsOf(path: string): string[] {
  const names = path.split("/");
  return names.map((_, index) => names.slice(0, index).join("/"));
}

async function readIgnoreFile({ mirror, commit, folder, dockerfile, signal }: ContextOptions) {
  const paths = [`${dockerfile}.dockerignore`, posix.join(folder, ".dockerignore")];
  const contents = await openCommit({ mirror, commit, signal }).read(paths, { maxBytes: MAX_IGNORE_BYTES });
  const found = contents.find(({ type }) => type === "file" || type === "large");
  if (found?.type === "large") throw new Error(".dockerignore is larger than 64 KiB.");
  return found?.type === "file" ? parseIgnoreFile(found.data.toString("utf8")) : () => false;
}

/** Converts the output of `git cat-file --batch` to an archive. */
async function* archiveOf(files: ArchivedFile[], stdout: Readable): AsyncGenerator<Buffer> {
  const reader = new BlobReader(stdout);
  for (const file of files) {
    const size = await reader.readHeader(file);
    if (file.mode === "120000") {
      const chunks: Buffer[] = [];
      for await (const chunk of reader.readContent(size)) chunks.push(chunk);
      const link = Buffer.concat(chunks).toString("utf8").slice(0, MAX_LINK_BYTES);
      yield archiveHeader({ path: file.name, size: 0, mode: 0o777, type: "2", link });
      continue;
    }
    yield archiveHeader({ path: file.name, size, mode: file.mode === "100755" ? 0o755 : 0o644 });
    yield* reader.readContent(size);
    yield tarPadding(size);
  }
  yield tarEnd;
}

async function* contentOf(file: ArchivedFile, stdout: Readable): AsyncGenerator<Buffer> {
  const reader = new BlobReader(stdout);
  yield* reader.readContent(await reader.readHeader(file));
}

/** Reads `ID TYPE SIZE`, the content and a line break for each object. */
class BlobReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(stdout: Readable) {
    this.#chunks = stdout[Symbol.asyncIterator]();
  }

  async readHeader({ id, path }: ContextFile): Promise<number> {
    let end = this.#rest.indexOf("\n");
    for (; end < 0; end = this.#rest.indexOf("\n")) {
      if (this.#rest.length > 1_000 || !(await this.#readMore(true)))
        throw new Error(`${shown(path)} cannot be read.`);
    }
    const [found, type, size] = this.#rest.toString("latin1", 0, end).split(" ");
    this.#rest = this.#rest.subarray(end + 1);
    if (found !== id || type !== "blob")
      throw new Error(`${shown(path)} is not available: \`sparse_paths\` of the repository leaves it out.`);
    return Number(size);
  }

  async *readContent(size: number): AsyncGenerator<Buffer> {
    // A line break follows.
    for (let left = size + 1; left > 0; ) {
      if (this.#rest.length === 0 && !(await this.#readMore(false))) throw new Error("A file is incomplete.");
      const part = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(part.length);
      left -= part.length;
      const content = left === 0 ? part.subarray(0, -1) : part;
      if (content.length > 0) yield content;
    }
  }

  async #readMore(keepsRest: boolean): Promise<boolean> {
    const { done, value } = await this.#chunks.next();
    if (done) return false;
    this.#rest = keepsRest ? Buffer.concat([this.#rest, value]) : value;
    return true;
  }
}

const shown = (text: string) => text.slice(0, 200);
