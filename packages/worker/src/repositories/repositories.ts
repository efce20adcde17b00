import { existsSync } from "node:fs";
import type { Log } from "../sandboxes/sandbox.ts";
import { type Access, openAccess } from "./access.ts";
import { type Address, parseAddress } from "./address.ts";
import { explainGit } from "./complaint.ts";
import { setupFailed } from "./error.ts";
import { type Folders, makeFolders, mirrorPlace, type Place } from "./folders.ts";
import { git } from "./git.ts";
import { choose, type Listing, readListing, unknownRef, type Wanted } from "./listing.ts";
import { noteUse, takeLock, tryLock } from "./lock.ts";
import { BrokenMirrorError, type Limits, Mirror, uploadPack } from "./mirror.ts";
import { noticesOf } from "./notices.ts";
import { bytesOf, prune } from "./prune.ts";

const TRIES = 3;

export interface Repository {
  /** https, ssh, or a path that the operator allows. */
  url: string;
  /** A branch, a tag, a commit or its beginning, or a full name like refs/pull/7/head. Default: the default branch. */
  ref?: string;
  /** The value of a secret: `user:token`, a token alone, or for ssh a private key. */
  credential?: string;
  /**
   * Whose the credential is. A mirror is shared by all who name the same; without a name, by those with the same
   * credential. Otherwise one could see in it what only another's credential opens.
   */
  sharedBy?: string;
}

export interface Resolved {
  commit: string;
  /** The full name it was found by: a branch is checked out as one. */
  ref?: string;
  /** The folder of a bare repository that has the commit; to be bound read-only. */
  mirror: string;
  /** What a checkout will lack, in sentences. */
  notices: string[];
}

export interface Repositories {
  /** Asks the repository, fetches what is missing, rejects with a RepositoryError. The credential is tried each time. */
  resolve(
    repository: Repository,
    options: { signal: AbortSignal; onProgress?: (text: string) => void },
  ): Promise<Resolved>;
  /**
   * The folder of the mirror, where it is here and has the commit. Nobody is asked and no credential tried, so this is
   * for a commit that the run has had from the repository before.
   */
  find(repository: Repository, commit: string, options: { signal: AbortSignal }): Promise<string | undefined>;
  /** Removes what was not used for longest until the rest fits, never a mirror in use or to be kept. */
  prune(options: { keep: string[]; maxBytes: number; signal?: AbortSignal }): Promise<string[]>;
  /** What all mirrors take of the disk. */
  bytes(): number;
}

export interface RepositoriesOptions {
  /** Ours alone; other workers on this host may share it. */
  folder: string;
  allowedPaths: string[];
  log: Log;
  /** The group of the sandboxes, where they do not run as the worker's own user: it may read mirrors. */
  readers?: number;
  /** All of git's traffic goes through it: `http://user:secret@host:port`. */
  proxyUrl?: string;
  /** How ssh gets through that proxy. Without it, a worker with a proxy fetches nothing by ssh. */
  sshProxyCommand?: string;
  /** The operator's list of host keys. Without it, the key that a host shows first is remembered. */
  knownHosts?: string;
  insecureHosts?: string[];
  limits?: Partial<Limits & { listMs: number; keepDays: number }>;
}

/** Repositories for environments, as bare mirrors on this host. Hooks, filters and settings of theirs never run here. */
export function openRepositories(options: RepositoriesOptions): Repositories {
  const { log } = options;
  const folders = makeFolders(options.folder, options.readers);
  const limits = {
    ...{ listMs: 2 * 60_000, fetchMs: 30 * 60_000, maxBytes: 20 * 2 ** 30, keepDays: 30 },
    ...options.limits,
  };
  return {
    async resolve(repository, { signal, onProgress }) {
      const address = addressOf(repository, options);
      const { credential } = repository;
      using access = openAccess({ ...options, address, credential, seenHosts: folders.seenHosts });
      for (let tries = 1; ; tries++) {
        const listing = await list({ address, access, signal, timeoutMs: limits.listMs });
        const wanted = choose(listing, repository.ref, address.url);
        const place = mirrorPlace(folders, { ...repository, url: address.url, format: formatOf(listing) });
        const task = { address, access, listing, wanted, place, folders, limits, log, signal, onProgress };
        const resolved = await update(task);
        if (resolved) return resolved;
        // Between listing and fetch the branch went elsewhere, or the mirror was broken.
        if (tries === TRIES) throw unknownRef(listing, repository.ref ?? "HEAD", address.url);
      }
    },
    async find(repository, commit, { signal }) {
      const { url } = addressOf(repository, options);
      const place = mirrorPlace(folders, { ...repository, url, format: formatOfId(commit) });
      if (!existsSync(place.folder)) return undefined;
      using lock = await takeLock(place.lockFile, signal);
      noteUse(lock);
      const mirror = Mirror.existing({ ...place, scratch: folders.scratch, lock, signal });
      if (!existsSync(place.folder) || !(await mirror.has(commit))) return undefined;
      await mirror.keep(commit, undefined);
      return place.folder;
    },
    prune: (request) => prune({ ...request, folders, log, keepDays: limits.keepDays }),
    bytes: () => bytesOf(folders.mirrors),
  };
}

interface Task {
  address: Address;
  access: Access;
  listing: Listing;
  wanted: Wanted;
  place: Place;
  folders: Folders;
  limits: Limits;
  log: Log;
  signal: AbortSignal;
  onProgress: ((text: string) => void) | undefined;
}

/** Who comes second waits at the lock, and then finds that the first has fetched for both. */
async function update(task: Task): Promise<Resolved | undefined> {
  const { place, folders, log, signal, onProgress } = task;
  using lock = await lockOf(place, signal, onProgress);
  noteUse(lock);
  const { scratch } = folders;
  const mirror = await Mirror.open({ ...place, scratch, lock, signal });
  try {
    return await answer(mirror, task);
  } catch (error) {
    if (!(error instanceof BrokenMirrorError)) throw error;
    log.warn({ mirror: place.folder, error: error.message }, "a mirror is broken and will be fetched anew");
    await mirror.remove();
    return undefined;
  }
}

async function answer(mirror: Mirror, task: Task): Promise<Resolved | undefined> {
  const { address, listing, wanted } = task;
  if (!(await mirror.isCurrent(listing))) await mirror.fetch(task);
  const commit =
    "commit" in wanted ? await bring(mirror, task, wanted) : await search(mirror, task, wanted.beginning);
  if (!commit) return undefined;
  await mirror.keep(commit, listing.head);
  const notices = await noticesOf((args, options) => mirror.run(args, options), commit, address.url);
  const ref = "commit" in wanted && wanted.ref ? { ref: wanted.ref } : {};
  return { commit, ...ref, mirror: mirror.folder, notices };
}

async function lockOf(place: Place, signal: AbortSignal, onProgress: Task["onProgress"]) {
  const free = await tryLock(place.lockFile, signal);
  if (free) return free;
  onProgress?.("Waiting for another fetch of this repository.");
  return await takeLock(place.lockFile, signal);
}

async function bring(mirror: Mirror, task: Task, wanted: { commit: string; ref?: string }) {
  const { commit, ref: source } = wanted;
  if (await mirror.has(commit)) return commit;
  if (source && /^refs\/(?:heads|tags)\//.test(source)) {
    if (await mirror.isCurrent(task.listing)) await mirror.run(["cat-file", "-e", commit]);
    return undefined;
  }
  await mirror.fetch({ ...task, also: { source: source ?? commit, commit } });
  return (await mirror.has(commit)) ? commit : undefined;
}

async function search(mirror: Mirror, task: Task, beginning: string): Promise<string> {
  const { listing, address } = task;
  const found = await mirror.find(beginning);
  if (found.length > 1) {
    throw setupFailed(
      `The repository ${address.url} has several commits that begin with ${beginning}.`,
      "Give the whole commit as the repository's `ref`.",
    );
  }
  if (found[0]) return found[0];
  // Many servers hand out any commit they have, if it is named in full.
  if (beginning.length === formatOf(listing).hexLength) {
    const also = { source: beginning, commit: beginning };
    await mirror.fetch({ ...task, also }).catch((error) => {
      if (!/not our ref|unadvertised/i.test(error.message)) throw error;
    });
    if (await mirror.has(beginning)) return beginning;
  }
  throw unknownRef(listing, beginning, address.url);
}

async function list(options: {
  address: Address;
  access: Access;
  signal: AbortSignal;
  timeoutMs: number;
}): Promise<Listing> {
  const { address } = options;
  const args = ["ls-remote", "--symref", "--quiet", ...uploadPack(address), "--", address.url];
  const result = await git({ ...options, args });
  if (!result.ok) throw explainGit(address, result);
  return readListing(result.stdout);
}

function formatOf({ refs }: Listing) {
  const [object] = refs.values();
  return formatOfId(object);
}

function formatOfId(object: string | undefined) {
  return object?.length === 64 ? { name: "sha256", hexLength: 64 } : { name: "sha1", hexLength: 40 };
}

function addressOf(repository: Repository, options: RepositoriesOptions): Address {
  const { allowedPaths, insecureHosts = [], proxyUrl, sshProxyCommand } = options;
  const address = parseAddress(repository.url, { allowedPaths, insecureHosts });
  if (address.kind === "ssh" && proxyUrl && !sshProxyCommand) {
    throw setupFailed("This worker fetches no repositories by ssh.", "Use the repository's https address.");
  }
  return address;
}
