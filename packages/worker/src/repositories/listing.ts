import { setupFailed } from "./error.ts";
import { nearest } from "./nearest.ts";

/** What a repository says it has. */
export interface Listing {
  /** Full name to object, branches and all else. A tag that is an object of its own stands for that object. */
  refs: Map<string, string>;
  /** Full name of a tag to the commit behind its object. */
  peeled: Map<string, string>;
  /** Full name of the default branch. */
  head: string | undefined;
}

/** What is to be checked out: a commit the listing names, or one of which all or the beginning is known. */
export type Wanted = { commit: string; ref?: string } | { beginning: string };

/** Reads the output of `git ls-remote --symref`. */
export function readListing(text: string): Listing {
  const listing: Listing = { refs: new Map(), peeled: new Map(), head: undefined };
  for (const line of text.split("\n")) {
    const symbolic = /^ref: (refs\/heads\/.+)\tHEAD$/.exec(line)?.[1];
    const [, object, name] = /^([0-9a-f]{40}|[0-9a-f]{64})\t(.+)$/.exec(line) ?? [];
    if (symbolic) listing.head = symbolic;
    else if (object && name?.endsWith("^{}")) listing.peeled.set(name.slice(0, -3), object);
    else if (object && name) listing.refs.set(name, object);
  }
  return listing;
}

/** A branch comes before a tag, and both before a commit. The name is compared as data, so nothing in it has a meaning. */
export function choose(listing: Listing, ref: string | undefined, url: string): Wanted {
  if (ref === undefined) return chooseDefault(listing, url);
  const name = [`refs/heads/${ref}`, `refs/tags/${ref}`, ref].find(
    (each) => each.startsWith("refs/") && listing.refs.has(each),
  );
  if (name) return commitOf(listing, name);
  if (/^[0-9a-f]{4,64}$/i.test(ref)) return { beginning: ref.toLowerCase() };
  throw unknownRef(listing, ref, url);
}

export function unknownRef(listing: Listing, ref: string, url: string): Error {
  const names = [...listing.refs.keys()].flatMap(
    (name) => /^refs\/(?:heads|tags)\/(.+)$/.exec(name)?.[1] ?? [],
  );
  const close = nearest(ref, names, 3).map((name) => `"${name}"`);
  const hint = close.length > 0 ? `; the nearest are ${close.join(", ")}` : "";
  return setupFailed(
    `The repository ${url} has no branch, tag or commit "${ref}"${hint}.`,
    "Correct the repository's `ref` in the environment, or push what it names.",
  );
}

function chooseDefault(listing: Listing, url: string): Wanted {
  if (listing.head && listing.refs.has(listing.head)) return commitOf(listing, listing.head);
  const detached = listing.refs.get("HEAD");
  if (detached) return { commit: detached };
  const isEmpty = listing.refs.size === 0;
  throw setupFailed(
    isEmpty ? `The repository ${url} is empty.` : `The repository ${url} has no default branch.`,
    isEmpty ? "Push a commit to it first." : "Name a branch as the repository's `ref` in the environment.",
  );
}

function commitOf({ refs, peeled }: Listing, ref: string): Wanted {
  return { commit: peeled.get(ref) ?? (refs.get(ref) as string), ref };
}
