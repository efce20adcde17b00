import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { readContents } from "../commit-reader.ts";
import { setupFailed } from "../repository-error.ts";
import { listTree, type RunGit, type TreeEntry } from "../tree-contents.ts";

/** A pointer has three lines, of which only the size varies in length. */
const MIN_POINTER_BYTES = 120;
const MAX_POINTER_BYTES = 200;
/** Files of a pointer's size. Only some of them are pointers. */
const MAX_CANDIDATES = 200_000;

const pointer =
  /^version https:\/\/git-lfs\.github\.com\/spec\/v1\noid sha256:([0-9a-f]{64})\nsize (\d{1,15})\n$/;

export interface LfsFile {
  path: string;
  /** The SHA-256 of its content. */
  oid: string;
  size: number;
}

interface FindOptions {
  commit: string;
  attributeFiles: TreeEntry[];
  /** A folder for a temporary index. */
  scratch: string;
  url: string;
  /** Whether a path is part of the checkout. */
  isIncluded(path: string): boolean;
}

/** Finds the files of a commit that Git LFS replaces: those that are pointers and have the attribute `filter=lfs`. */
export async function findLfsFiles(run: RunGit, options: FindOptions): Promise<LfsFile[]> {
  const candidates: TreeEntry[] = [];
  await listTree(run, { commit: options.commit, withSizes: true }, ({ mode, size, path, id }) => {
    if (!mode.startsWith("100") || !(size >= MIN_POINTER_BYTES && size <= MAX_POINTER_BYTES)) return;
    if (!options.isIncluded(path)) return;
    if (candidates.length <= MAX_CANDIDATES) candidates.push({ path, id });
  });
  if (candidates.length > MAX_CANDIDATES) throw tooManyFiles(options.url);
  if (candidates.length === 0) return [];
  const chunks: Buffer[] = [];
  const ids = [...new Set(candidates.map(({ id }) => id))];
  await run(["cat-file", "--batch"], {
    stdin: ids.map((id) => `${id}\n`).join(""),
    onOutput: (data) => void chunks.push(data),
  });
  const contents = readContents(Buffer.concat(chunks));
  const files = candidates.flatMap(({ path, id }) => {
    const [, oid, size] = pointer.exec(contents.get(id)?.toString("latin1") ?? "") ?? [];
    return oid ? [{ path, oid, size: Number(size) }] : [];
  });
  return await withFilter(run, files, options);
}

/** Returns the files with `filter=lfs`. git evaluates the attributes from an index that contains only their files. */
async function withFilter(
  run: RunGit,
  files: LfsFile[],
  { attributeFiles, scratch }: FindOptions,
): Promise<LfsFile[]> {
  if (files.length === 0) return [];
  const index = join(scratch, `index-${randomUUID()}`);
  const env = { GIT_INDEX_FILE: index };
  try {
    const entries = attributeFiles.map(({ path, id }) => `100644 ${id}\t${path}\0`);
    await run(["update-index", "-z", "--index-info"], { env, stdin: entries.join("") });
    const output = await run(["check-attr", "--cached", "-z", "--stdin", "filter"], {
      env,
      stdin: files.map(({ path }) => `${path}\0`).join(""),
    });
    const values = output.split("\0");
    return files.filter((_, position) => values[position * 3 + 2] === "lfs");
  } finally {
    rmSync(index, { force: true });
  }
}

export function tooManyFiles(url: string) {
  return setupFailed(
    `The repository ${url} has too many Git LFS files for this worker.`,
    "Set `lfs` of the repository to false, and download the files that you need in a setup command.",
  );
}
