import { findIgnored, parentFolders, toArgument } from "./git-ignored.ts";
import type { Inspection } from "./inspection.ts";

/**
 * Changes are no longer reported per command if a workspace has more entries than this or, with a base, more changed
 * entries than this.
 */
const MAX_ENTRIES = 20_000;
/** Each skipped folder costs one comparison per entry. */
const MAX_SKIPPED = 100;

export interface Entry {
  /** The type that `find` prints: d, f or l. In addition, x is an unreadable folder and u an unreadable file. */
  kind: string;
  size: number;
  /** A different signature means that the entry may have changed. */
  signature: string;
}

export type Listing = Map<string, Entry>;

export function isFile(entry: Entry | undefined): entry is Entry {
  return entry?.kind === "f" || entry?.kind === "l";
}

/** Lists a folder repeatedly. Skips folders that git ignores, because dependencies and build output can be huge. */
export class Lister {
  readonly #root: string;
  readonly #skipped = new Set<string>();

  constructor(root: string) {
    this.#root = root;
  }

  /** Lists the entries. Entries that cannot be read keep their state from the last listing. */
  async list(inspection: Inspection, last: Listing): Promise<Listing> {
    for (;;) {
      const patterns = [...this.#skipped].map((path) => toArgument(path).replace(/[*?[\]\\]/g, "\\$&"));
      const lines = await inspection.run("list", patterns, this.#root, String(MAX_ENTRIES + 1));
      const listing: Listing = new Map(lines.map(parseLine));
      if (lines.length <= MAX_ENTRIES) return keepUnreadable(listing, last);
      const folders = [...listing].filter(([, { kind }]) => kind === "d").map(([path]) => path);
      const before = this.#skipped.size;
      this.skip(await findIgnored(inspection, folders), listing);
      if (this.#skipped.size === before)
        throw new Error(`there are more than ${MAX_ENTRIES.toLocaleString("en")} files.`);
    }
  }

  /** Removes ignored folders from this listing and all later ones. */
  skip(ignored: Set<string>, listing: Listing) {
    for (const path of ignored) {
      if (listing.get(path)?.kind !== "d" || this.#skipped.size === MAX_SKIPPED) continue;
      if (!parentFolders(path).some((folder) => this.#skipped.has(folder))) this.#skipped.add(path);
    }
    for (const path of listing.keys()) {
      if ([path, ...parentFolders(path)].some((folder) => this.#skipped.has(folder))) listing.delete(path);
    }
  }

  /** Forgets which folders are ignored, because a .gitignore file has changed. */
  resetSkipped() {
    this.#skipped.clear();
  }
}

function parseLine(line: string): [path: string, entry: Entry] {
  const [kind = "", inode, size, changed] = line.split(" ", 4);
  const signature = `${kind} ${inode} ${size} ${changed}`;
  return [line.slice(signature.length + 1), { kind, size: Number(size), signature }];
}

function keepUnreadable(listing: Listing, last: Listing): Listing {
  const isUnreadable = (path: string) => listing.get(path)?.kind === "x";
  for (const [path, entry] of last) {
    if (listing.get(path)?.kind === "u" || parentFolders(path).some(isUnreadable)) listing.set(path, entry);
  }
  for (const [path, { kind }] of listing) if (kind === "u") listing.delete(path);
  return listing;
}
