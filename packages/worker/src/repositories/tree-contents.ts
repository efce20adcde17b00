import { StringDecoder } from "node:string_decoder";
import type { GitOptions } from "./git.ts";

/** Limits for reading .gitattributes files. */
const MAX_ATTRIBUTE_FILES = 200;
const MAX_ATTRIBUTE_BYTES = 16 * 2 ** 20;
/** A few trees that contain each other several times can list billions of files, and a name can have any length. */
const MAX_LISTING_BYTES = 64 * 2 ** 20;
const MAX_ENTRY_CHARACTERS = 2 ** 16;
/** More than any caller accepts, so that it can tell that there are too many. */
const MAX_SUBMODULES = 1_000;

export type RunGit = (
  args: string[],
  options?: Pick<GitOptions, "stdin" | "onOutput" | "checkEverySecond" | "env">,
) => Promise<string>;

export interface TreeEntry {
  path: string;
  /** The id of the blob, or the commit of a submodule. */
  id: string;
}

/** The parts of a commit that a checkout needs besides the repository's own objects. */
export interface TreeContents {
  submodules: TreeEntry[];
  attributeFiles: TreeEntry[];
  usesLfs: boolean;
  /** False if the tree is too large, so that the rest was not inspected. */
  isComplete: boolean;
}

/** Finds a commit's submodules, and whether it uses Git LFS. */
export async function inspectTree(run: RunGit, commit: string): Promise<TreeContents> {
  const submodules: TreeEntry[] = [];
  const attributeFiles: TreeEntry[] = [];
  const isComplete = await listTree(run, { commit }, ({ mode, path, id }) => {
    if (mode === "160000") {
      if (submodules.length < MAX_SUBMODULES) submodules.push({ path, id });
    } else if (/(?:^|\/)\.gitattributes$/.test(path) && attributeFiles.length < MAX_ATTRIBUTE_FILES) {
      attributeFiles.push({ path, id });
    }
  });
  return { submodules, attributeFiles, usesLfs: await usesLfs(run, attributeFiles), isComplete };
}

/**
 * Lists all files of a commit. Parses the entries as a stream, because a tree may have millions of them. Returns false
 * if the listing is too long; the rest is then not listed.
 */
export async function listTree(
  run: RunGit,
  { commit, withSizes = false }: { commit: string; withSizes?: boolean },
  onEntry: (entry: TreeEntry & { mode: string; size: number }) => void,
): Promise<boolean> {
  const decoder = new StringDecoder("utf8");
  let incompleteEntry = "";
  let bytes = 0;
  const isTooLong = () => bytes > MAX_LISTING_BYTES;
  const listing = run(["ls-tree", "-r", "-z", "--full-tree", ...(withSizes ? ["--long"] : []), commit], {
    checkEverySecond: () => (isTooLong() ? "listing" : undefined),
    onOutput(data) {
      bytes += data.length;
      if (isTooLong()) return;
      const entries = (incompleteEntry + decoder.write(data)).split("\0");
      incompleteEntry = (entries.pop() ?? "").slice(0, MAX_ENTRY_CHARACTERS);
      for (const entry of entries) {
        const tab = entry.indexOf("\t");
        const [mode = "", , id = "", size] = entry.slice(0, tab).split(/ +/);
        onEntry({ mode, id, size: Number(size), path: entry.slice(tab + 1) });
      }
    },
  });
  await listing.catch((error) => {
    if (!isTooLong()) throw error;
  });
  return !isTooLong();
}

async function usesLfs(run: RunGit, files: TreeEntry[]): Promise<boolean> {
  if (files.length === 0) return false;
  const objects = [...new Set(files.map(({ id }) => id))];
  const sizes = await run(["cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)"], {
    stdin: `${objects.join("\n")}\n`,
  });
  let bytes = 0;
  const readable = sizes.split("\n").flatMap((line) => {
    const [object = "", type, size] = line.split(" ");
    if (type !== "blob" || bytes + Number(size) > MAX_ATTRIBUTE_BYTES) return [];
    bytes += Number(size);
    return [object];
  });
  const content = await run(["cat-file", "--batch"], {
    stdin: readable.map((object) => `${object}\n`).join(""),
  });
  return /^[^#\n]*\sfilter=lfs(?:\s|$)/m.test(content);
}
