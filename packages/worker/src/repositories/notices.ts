import { StringDecoder } from "node:string_decoder";
import type { GitOptions } from "./git.ts";

/** Limits for reading .gitattributes files. */
const MAX_ATTRIBUTE_FILES = 200;
const MAX_ATTRIBUTE_BYTES = 16 * 2 ** 20;
/** A few trees that contain each other several times can list billions of files, and a name can have any length. */
const MAX_LISTING_BYTES = 64 * 2 ** 20;
const MAX_ENTRY_CHARACTERS = 2 ** 16;
const NAMED_SUBMODULES = 5;

type Run = (
  args: string[],
  options?: Pick<GitOptions, "stdin" | "onOutput" | "checkEverySecond">,
) => Promise<string>;

interface TreeContents {
  submodules: string[];
  submoduleCount: number;
  /** The ids of .gitattributes files. */
  attributes: Set<string>;
}

/** Returns sentences that say what a checkout of this commit will not contain. */
export async function checkoutNotices(run: Run, commit: string, url: string): Promise<string[]> {
  const { submodules, submoduleCount, attributes } = await inspectTree(run, commit);
  const notices: string[] = [];
  if (submoduleCount > 0) {
    const others = submoduleCount - submodules.length;
    const names = `${submodules.join(", ")}${others > 0 ? ` and ${others} more` : ""}`;
    notices.push(`Submodules of ${url} are not checked out: ${names}.`);
  }
  if (await usesLfs(run, attributes)) {
    notices.push(`${url} uses Git LFS: the checkout contains pointers instead of the large files.`);
  }
  return notices;
}

/**
 * Finds submodules and .gitattributes files. Parses the entries as a stream, because a tree may have millions of them.
 * If the listing is too long, the rest is not inspected.
 */
async function inspectTree(run: Run, commit: string): Promise<TreeContents> {
  const decoder = new StringDecoder("utf8");
  const contents: TreeContents = { submodules: [], submoduleCount: 0, attributes: new Set() };
  let incompleteEntry = "";
  let bytes = 0;
  const isTooLong = () => bytes > MAX_LISTING_BYTES;
  const listing = run(["ls-tree", "-r", "-z", "--full-tree", commit], {
    checkEverySecond: () => (isTooLong() ? "listing" : undefined),
    onOutput(data) {
      bytes += data.length;
      if (isTooLong()) return;
      const entries = (incompleteEntry + decoder.write(data)).split("\0");
      incompleteEntry = (entries.pop() ?? "").slice(0, MAX_ENTRY_CHARACTERS);
      for (const entry of entries) addEntry(contents, entry);
    },
  });
  await listing.catch((error) => {
    if (!isTooLong()) throw error;
  });
  return contents;
}

function addEntry(contents: TreeContents, entry: string): void {
  const path = entry.slice(entry.indexOf("\t") + 1);
  if (entry.startsWith("160000 ")) {
    contents.submoduleCount += 1;
    if (contents.submoduleCount <= NAMED_SUBMODULES)
      contents.submodules.push(path.replaceAll(/\p{Cc}/gu, "?").slice(0, 200));
  } else if (/(?:^|\/)\.gitattributes$/.test(path) && contents.attributes.size < MAX_ATTRIBUTE_FILES) {
    contents.attributes.add(entry.split(/[ \t]/)[2] ?? "");
  }
}

async function usesLfs(run: Run, objects: Set<string>): Promise<boolean> {
  if (objects.size === 0) return false;
  const sizes = await run(["cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)"], {
    stdin: `${[...objects].join("\n")}\n`,
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
