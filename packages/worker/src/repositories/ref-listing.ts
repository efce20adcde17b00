import { StringDecoder } from "node:string_decoder";
import { closestNames } from "./closest-names.ts";
import { setupFailed } from "./repository-error.ts";

/** A remote repository's refs. */
export interface RefListing {
  /** Maps the full name of every ref to its object. For an annotated tag this is the tag object. */
  refs: Map<string, string>;
  /** Maps the full name of an annotated tag to its commit. */
  peeled: Map<string, string>;
  /** The full name of the default branch. */
  head: string | undefined;
}

/** Specifies what to check out: a commit from the listing, or a full or abbreviated commit id. */
export type Selection = { commit: string; ref?: string } | { commitPrefix: string };

/** Matches what git does not allow in the name of a ref. A hostile server can send such names. */
const invalidName = /[\p{Cc} ~^:?*[\\]|\.\.|@\{|\/\/|(?:^|\/)\.|\.lock(?:\/|$)|\.$|\/$/u;

/** git accepts names of up to 64 KiB, except from a server without the smart HTTP protocol, which has no limit. */
const MAX_LINE_CHARACTERS = 2 ** 17;
const MAX_LISTING_BYTES = 128 * 2 ** 20;

/**
 * Parses the output of `git ls-remote --symref` chunk by chunk, because parsing a long listing at once would block the
 * worker for seconds. Omits refs with invalid names, which git does not fetch.
 */
export class RefListingParser {
  readonly listing: RefListing = { refs: new Map(), peeled: new Map(), head: undefined };
  readonly #maxRefs: number;
  readonly #decoder = new StringDecoder("utf8");
  #incompleteLine = "";
  #bytes = 0;
  /** The number of branches and tags. If there are more than `maxRefs`, the rest is counted but not listed. */
  count = 0;

  constructor({ maxRefs }: { maxRefs: number }) {
    this.#maxRefs = maxRefs;
  }

  /** Whether the output is too long. Its end is then ignored. */
  get isTooLong(): boolean {
    return this.#bytes > MAX_LISTING_BYTES;
  }

  push(data: Buffer): void {
    this.#bytes += data.length;
    if (this.isTooLong) return;
    const lines = (this.#incompleteLine + this.#decoder.write(data)).split("\n");
    // A line that is too long stays too long, so that it is omitted when its end arrives.
    this.#incompleteLine = (lines.pop() ?? "").slice(0, MAX_LINE_CHARACTERS + 1);
    for (const line of lines) if (line.length <= MAX_LINE_CHARACTERS) this.#addLine(line);
  }

  #addLine(line: string): void {
    const symbolic = /^ref: (refs\/heads\/.+)\tHEAD$/.exec(line)?.[1];
    const [, object, name, peeled] = /^([0-9a-f]{40}|[0-9a-f]{64})\t(.+?)(\^\{\})?$/.exec(line) ?? [];
    if (invalidName.test(symbolic ?? name ?? "")) return;
    if (symbolic) this.listing.head = symbolic;
    if (symbolic || !object || !name) return;
    if (!peeled && /^refs\/(?:heads|tags)\//.test(name)) this.count += 1;
    if (this.count <= this.#maxRefs) this.listing[peeled ? "peeled" : "refs"].set(name, object);
  }
}

/**
 * Determines what a ref refers to. A branch takes precedence over a tag, and both take precedence over a commit id. The
 * name is only compared, so none of its characters has a special meaning.
 */
export function selectRef(listing: RefListing, ref: string | undefined, url: string): Selection {
  if (ref === undefined) return selectDefault(listing, url);
  const name = [`refs/heads/${ref}`, `refs/tags/${ref}`, ref].find(
    (candidate) => candidate.startsWith("refs/") && listing.refs.has(candidate),
  );
  if (name) return selectionOf(listing, name);
  if (/^[0-9a-f]{4,64}$/i.test(ref)) return { commitPrefix: ref.toLowerCase() };
  throw unknownRef(listing, ref, url);
}

export function unknownRef(listing: RefListing, ref: string, url: string): Error {
  const names = [...listing.refs.keys()].flatMap(
    (name) => /^refs\/(?:heads|tags)\/(.+)$/.exec(name)?.[1] ?? [],
  );
  const closest = closestNames(ref, names, 3).map((name) => `"${name}"`);
  const hint = closest.length > 0 ? ` Closest names: ${closest.join(", ")}.` : "";
  return setupFailed(
    `The repository ${url} has no branch, tag or commit "${ref}".${hint}`,
    "Correct the repository's `ref` in the environment, or push the missing ref.",
  );
}

function selectDefault(listing: RefListing, url: string): Selection {
  if (listing.head && listing.refs.has(listing.head)) return selectionOf(listing, listing.head);
  const detached = listing.refs.get("HEAD");
  if (detached) return { commit: detached };
  const isEmpty = listing.refs.size === 0;
  throw setupFailed(
    isEmpty ? `The repository ${url} is empty.` : `The repository ${url} has no default branch.`,
    isEmpty ? "Push a commit to it first." : "Set the repository's `ref` in the environment to a branch.",
  );
}

function selectionOf({ refs, peeled }: RefListing, ref: string): Selection {
  return { commit: peeled.get(ref) ?? (refs.get(ref) as string), ref };
}
