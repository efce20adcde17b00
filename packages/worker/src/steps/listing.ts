import { findIgnored, foldersAbove, inside } from "./ignored.ts";
import type { Inspection } from "./inspection.ts";

/** More files than this in a workspace, or changed over its base, and steps are not told of any more. */
const MOST_ENTRIES = 20_000;
/** Each of them costs a comparison for each entry. */
const MOST_SKIPPED = 100;

export interface Entry {
  /** As `find` says it: d, f or l; x is a folder that cannot be looked into. */
  kind: string;
  size: number;
  /** Another one says that the entry may have changed. */
  signature: string;
}

export type Listing = Map<string, Entry>;

export function isFile(entry: Entry | undefined): entry is Entry {
  return entry?.kind === "f" || entry?.kind === "l";
}

/** Lists folders again and again, but not what git ignores in them: dependencies and build output have no end. */
export class Lister {
  private readonly root: string;
  private readonly skipped = new Set<string>();

  constructor(root: string) {
    this.root = root;
  }

  /** What cannot be looked at stays as it was. */
  async list(inspection: Inspection, last: Listing): Promise<Listing> {
    for (;;) {
      const patterns = [...this.skipped].map((path) => inside(path).replace(/[*?[\]\\]/g, "\\$&"));
      const lines = await inspection.ask("list", patterns, this.root, String(MOST_ENTRIES + 1));
      const listing: Listing = new Map(lines.map(parse));
      if (lines.length <= MOST_ENTRIES) return withUnseen(listing, last);
      const folders = [...listing].filter(([, { kind }]) => kind === "d").map(([path]) => path);
      const before = this.skipped.size;
      this.skip(await findIgnored(inspection, folders), listing);
      if (this.skipped.size === before)
        throw new Error(`there are more than ${MOST_ENTRIES.toLocaleString("en")} files.`);
    }
  }

  /** Takes ignored folders out of this listing and of all to come. */
  skip(ignored: Set<string>, listing: Listing) {
    for (const path of ignored) {
      if (listing.get(path)?.kind !== "d" || this.skipped.size === MOST_SKIPPED) continue;
      if (!foldersAbove(path).some((folder) => this.skipped.has(folder))) this.skipped.add(path);
    }
    for (const path of listing.keys()) {
      if ([path, ...foldersAbove(path)].some((folder) => this.skipped.has(folder))) listing.delete(path);
    }
  }

  /** What is ignored may be another matter now. */
  skipNothing() {
    this.skipped.clear();
  }
}

function parse(line: string): [path: string, entry: Entry] {
  const [kind = "", inode, size, changed] = line.split(" ", 4);
  const signature = `${kind} ${inode} ${size} ${changed}`;
  return [line.slice(signature.length + 1), { kind, size: Number(size), signature }];
}

function withUnseen(listing: Listing, last: Listing): Listing {
  const isClosed = (path: string) => listing.get(path)?.kind === "x";
  for (const [path, entry] of last) {
    if (listing.get(path)?.kind === "u" || foldersAbove(path).some(isClosed)) listing.set(path, entry);
  }
  for (const [path, { kind }] of listing) if (kind === "u") listing.delete(path);
  return listing;
}
