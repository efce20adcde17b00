/**
 * Resolves environments' repositories to commits and stores them as bare mirrors on this host.
 *
 * `resolve` does, in this order:
 * 1. Check the URL against the worker's rules (address.ts) and open access with the credential (access.ts).
 * 2. List the remote's refs with the credential, every time. A mirror therefore never gives access to a caller whose
 *    credential the remote rejects.
 * 3. Determine what `ref` refers to: branch, tag or commit (ref-listing.ts).
 * 4. Under the mirror's lock, fetch if the mirror's refs differ from the listing, then find the commit. Concurrent
 *    callers wait for the lock and then find that the first one has fetched for all.
 * 5. Protect the commit from garbage collection and return the mirror's folder. `streamMirrors` sends its content to a
 *    sandbox.
 *
 * With `sparsePaths`, the mirror is partial: it has no files until step 5, which fetches those that the checkout needs
 * (sparse.ts). `fetchContents` then fetches submodules (submodules.ts) and Git LFS files (lfs/) by the same rules.
 *
 * Steps 2 to 4 are repeated if the branch moved between listing and fetch, or if the mirror was damaged and removed.
 *
 * Invariants:
 * - A mirror is shared only by callers with the same credential or the same `sharedBy` name.
 * - Secrets are passed to git through its environment or an open file, never as arguments, and are removed from its
 *   output.
 * - Errors for users are RepositoryErrors with a remedy.
 */
import { existsSync } from "node:fs";
import type { Log } from "../log.ts";
import { Outbox } from "../publishing/outbox.ts";
import { type Access, openAccess } from "./access.ts";
import { type Address, parseAddress } from "./address.ts";
import { type CacheFolders, type MirrorPaths, makeCacheFolders, mirrorPaths } from "./cache-folders.ts";
import { fetchContents } from "./contents.ts";
import { git } from "./git.ts";
import { corruptRemote, explainGitError } from "./git-error.ts";
import { fetchLfs } from "./lfs/fetch-lfs.ts";
import { acquireLock, recordUse, tryLock } from "./lock.ts";
import { BrokenMirrorError, type Limits, Mirror } from "./mirror.ts";
import { streamMirrors } from "./mirror-archive.ts";
import { mirrorBytes, prune } from "./prune.ts";
import { type RefListing, RefListingParser, type Selection, selectRef, unknownRef } from "./ref-listing.ts";
import type { Repositories, Repository, Resolved } from "./repository.ts";
import { RepositoryError, setupFailed } from "./repository-error.ts";
import { isInCone, listCone } from "./sparse.ts";
import { inspectTree } from "./tree-contents.ts";
import { uploadPackArgs } from "./upload-pack.ts";

const MAX_ATTEMPTS = 3;
const LIST_MEMORY_BYTES = 2 ** 30;

export interface RepositoriesOptions {
  /** The cache folder. Several workers on one host may share it. */
  folder: string;
  allowedPaths: string[];
  log: Log;
  /** The proxy for all of git's traffic: `http://user:secret@host:port`. */
  proxyUrl?: string;
  /** The ProxyCommand that routes ssh through the proxy. Without it, a worker with a proxy rejects ssh URLs. */
  sshProxyCommand?: string;
  /** A PEM file with the authorities that git trusts. Default: those of this machine. */
  caFile?: string;
  /** The operator's known_hosts file. Without it, each host's first key is trusted and stored. */
  knownHosts?: string;
  insecureHosts?: string[];
  limits?: Partial<Limits & { listMs: number; keepDays: number }>;
}

export function openRepositories(options: RepositoriesOptions): Repositories {
  const { log, allowedPaths } = options;
  const folders = makeCacheFolders(options.folder);
  const limits = {
    ...{ listMs: 2 * 60_000, fetchMs: 30 * 60_000, maxBytes: 20 * 2 ** 30, maxRefs: 250_000, keepDays: 30 },
    ...options.limits,
  };
  const rules = { allowedPaths, insecureHosts: options.insecureHosts ?? [] };
  async function fetchLfsFiles(repository: Repository, resolved: Resolved, signal: AbortSignal) {
    const address = addressOf(repository, options);
    const format = formatOfId(resolved.commit);
    const paths = mirrorPaths(folders, { ...repository, url: address.url, format });
    const { credential, sparsePaths } = repository;
    using access = openAccess({ ...options, address, credential, seenHosts: folders.seenHosts });
    using lock = await acquireLock(paths.lockFile, signal);
    recordUse(lock);
    const { scratch } = folders;
    const mirror = Mirror.openExisting({ ...paths, scratch, lock, signal });
    return await fetchLfs({
      mirror,
      resolved,
      sparsePaths,
      address,
      access,
      rules,
      limits,
      scratch,
      proxyUrl: options.proxyUrl,
      signal,
    });
  }
  const repositories: Repositories = {
    async resolve(repository, { signal, onProgress }) {
      const address = addressOf(repository, options);
      const { credential } = repository;
      using access = openAccess({ ...options, address, credential, seenHosts: folders.seenHosts });
      for (let attempt = 1; ; attempt++) {
        const listing = await listRefs({ address, access, allowedPaths, signal, limits });
        const selection = repository.commit
          ? { commitPrefix: repository.commit }
          : selectRef(listing, repository.ref, address.url);
        const paths = mirrorPaths(folders, { ...repository, url: address.url, format: formatOf(listing) });
        const { sparsePaths, isFetched } = repository;
        const task = {
          ...{ address, access, allowedPaths, listing, selection, paths, folders, limits, log, signal },
          ...{ onProgress, sparsePaths, isFetched, partial: sparsePaths !== undefined },
        };
        const resolved = await updateMirror(task);
        if (resolved) return resolved;
        // The branch moved between listing and fetch, or the mirror was damaged.
        if (attempt === MAX_ATTEMPTS) throw unknownRef(listing, repository.ref ?? "HEAD", address.url);
      }
    },
    fetchContents: (repository, resolved, request) =>
      fetchContents({
        ...{ repositories, repository, resolved, request },
        addressOf: (each) => addressOf(each, options),
        rules,
        fetchLfs: (each, commit) => fetchLfsFiles(each, commit, request.signal),
      }),
    streamMirrors: (requests, { signal }) => streamMirrors(requests, { folders, signal }),
    async find(repository, commit, { signal }) {
      const { url } = addressOf(repository, options);
      const paths = mirrorPaths(folders, { ...repository, url, format: formatOfId(commit) });
      if (!existsSync(paths.folder)) return undefined;
      using lock = await acquireLock(paths.lockFile, signal);
      recordUse(lock);
      const mirror = Mirror.openExisting({ ...paths, scratch: folders.scratch, lock, signal });
      if (!existsSync(paths.folder) || !(await mirror.hasCommit(commit))) return undefined;
      await mirror.keep(commit, undefined);
      return paths.folder;
    },
    async openOutbox(repository, { commit, signal }) {
      const { url } = addressOf(repository, options);
      const format = formatOfId(commit);
      const paths = mirrorPaths(folders, { ...repository, url, format });
      const { scratch } = folders;
      for (let attempt = 1; ; attempt++) {
        const isPresent = await repositories.find(repository, commit, { signal });
        if (!isPresent) await repositories.resolve({ ...repository, commit }, { signal });
        using lock = await acquireLock(paths.lockFile, signal);
        const mirror = Mirror.openExisting({ ...paths, scratch, lock, signal });
        if (existsSync(paths.folder) && (await mirror.hasCommit(commit))) {
          return await Outbox.create({ mirror, scratch, objectFormat: format.name, signal });
        }
        // The mirror was removed before it was locked.
        if (attempt === MAX_ATTEMPTS) throw new Error(`The mirror of ${url} was removed repeatedly.`);
      }
    },
    connect(repository) {
      const address = addressOf(repository, options);
      const { credential } = repository;
      const access = openAccess({ ...options, address, credential, seenHosts: folders.seenHosts });
      return { address, access, [Symbol.dispose]: () => access[Symbol.dispose]() };
    },
    prune: (request) => prune({ ...request, folders, log, keepDays: limits.keepDays }),
    bytes: () => mirrorBytes(folders.mirrors),
  };
  return repositories;
}

interface ResolveTask {
  address: Address;
  access: Access;
  allowedPaths: string[];
  listing: RefListing;
  selection: Selection;
  paths: MirrorPaths;
  folders: CacheFolders;
  limits: Limits;
  log: Log;
  signal: AbortSignal;
  onProgress: ((text: string) => void) | undefined;
  sparsePaths: string[] | undefined;
  isFetched: Repository["isFetched"];
  /** Whether the mirror has only the files that are needed. */
  partial: boolean;
}

/**
 * Updates the mirror and resolves the commit in it. Returns undefined if the mirror was damaged or the commit is no
 * longer there, so that the caller retries.
 */
async function updateMirror(task: ResolveTask): Promise<Resolved | undefined> {
  const { paths, folders, log, signal, onProgress } = task;
  using lock = await lockMirror(paths, signal, onProgress);
  recordUse(lock);
  const { scratch } = folders;
  const isNew = !existsSync(paths.folder);
  const mirror = await Mirror.open({ ...paths, scratch, lock, signal });
  try {
    return await resolveInMirror(mirror, task);
  } catch (error) {
    if (!(error instanceof BrokenMirrorError)) throw error;
    log.warn({ mirror: paths.folder, error: error.message }, "removed damaged mirror");
    await mirror.remove();
    // A mirror that was empty before this fetch has the remote's damage, which another fetch would repeat.
    if (isNew) throw damagedRemote(task.address, error);
    return undefined;
  }
}

function damagedRemote({ url }: Address, error: BrokenMirrorError): RepositoryError {
  if (error.cause instanceof RepositoryError) return error.cause;
  return corruptRemote(url, error.message);
}

async function resolveInMirror(mirror: Mirror, task: ResolveTask): Promise<Resolved | undefined> {
  const { address, listing, selection } = task;
  // A commit never changes, so a mirror that has the commit of a submodule does not need the newer branches.
  const isFixed =
    "commitPrefix" in selection && selection.commitPrefix.length === formatOf(listing).hexLength;
  const isPresent = isFixed && (await mirror.findCommits(selection.commitPrefix)).length === 1;
  if (!isPresent && !(await mirror.isCurrent(listing))) await mirror.fetch(task);
  const commit =
    "commit" in selection
      ? await ensureCommit(mirror, task, selection)
      : await findByPrefix(mirror, task, selection.commitPrefix);
  if (!commit) return undefined;
  await mirror.keep(commit, listing.head);
  const sparsePaths = task.sparsePaths ?? [];
  const unknownPaths = task.partial ? await fetchCone(mirror, task, commit) : [];
  const tree = await inspectTree((args, options) => mirror.run(args, options), commit);
  if (task.partial) tree.submodules = tree.submodules.filter(({ path }) => isInCone(path, sparsePaths));
  const notices = unknownPaths.map(
    (path) => `The commit has no folder "${path}", which \`sparse_paths\` names.`,
  );
  if (!tree.isComplete) {
    notices.push(`${address.url} has too many files to be searched for submodules and Git LFS files.`);
  }
  const ref = "commit" in selection && selection.ref ? { ref: selection.ref } : {};
  return { commit, ...ref, mirror: mirror.folder, tree, notices };
}

/** Fetches the files that a sparse checkout needs. Returns the sparse paths that do not exist. */
async function fetchCone(mirror: Mirror, task: ResolveTask, commit: string): Promise<string[]> {
  const { blobs, unknownPaths } = await listCone(mirror, commit, task.sparsePaths ?? [], task.isFetched);
  const missing = await mirror.findMissing(blobs);
  if (missing.length === 0) return unknownPaths;
  await mirror.fetch({ ...task, objects: missing }).catch((error) => {
    if (!/not our ref|unadvertised|does not allow request/i.test(error.message)) throw error;
    throw setupFailed(
      `The server of ${task.address.url} does not send single files, which \`sparse_paths\` requires.`,
      "Use the repository's https URL, or remove `sparse_paths`.",
    );
  });
  return unknownPaths;
}

async function lockMirror(paths: MirrorPaths, signal: AbortSignal, onProgress: ResolveTask["onProgress"]) {
  const lock = tryLock(paths.lockFile);
  if (lock) return lock;
  onProgress?.("Waiting for another fetch of this repository.");
  return await acquireLock(paths.lockFile, signal);
}

/** Returns the commit if the mirror has it or can fetch it. */
async function ensureCommit(mirror: Mirror, task: ResolveTask, selection: { commit: string; ref?: string }) {
  const { commit, ref: source } = selection;
  if (await mirror.hasCommit(commit)) return commit;
  if (source && /^refs\/(?:heads|tags)\//.test(source)) {
    // If the refs are up to date but the commit is missing, the mirror is damaged, and this command throws a
    // BrokenMirrorError.
    if (await mirror.isCurrent(task.listing)) await mirror.run(["cat-file", "-e", commit]);
    return undefined;
  }
  await mirror.fetch({ ...task, extra: { source: source ?? commit, commit } });
  return (await mirror.hasCommit(commit)) ? commit : undefined;
}

async function findByPrefix(mirror: Mirror, task: ResolveTask, prefix: string): Promise<string> {
  const { listing, address } = task;
  const found = await mirror.findCommits(prefix);
  if (found.length > 1) {
    throw setupFailed(
      `The repository ${address.url} has several commits that start with ${prefix}.`,
      "Set the repository's `ref` to the full commit id.",
    );
  }
  if (found[0]) return found[0];
  // Many servers allow fetching any commit by its full id.
  if (prefix.length === formatOf(listing).hexLength) {
    const extra = { source: prefix, commit: prefix };
    await mirror.fetch({ ...task, extra }).catch((error) => {
      if (!/not our ref|unadvertised/i.test(error.message)) throw error;
    });
    if (await mirror.hasCommit(prefix)) return prefix;
  }
  throw unknownRef(listing, prefix, address.url);
}

async function listRefs(options: {
  address: Address;
  access: Access;
  allowedPaths: string[];
  signal: AbortSignal;
  limits: Limits & { listMs: number };
}): Promise<RefListing> {
  const { address, access, allowedPaths, signal, limits } = options;
  const args = ["ls-remote", "--symref", "--quiet", ...uploadPackArgs(address, allowedPaths), "--"];
  const parser = new RefListingParser(limits);
  const result = await git({
    ...{ access, signal, args: [...args, address.url] },
    timeoutMs: limits.listMs,
    onOutput: (data) => parser.push(data),
    checkEverySecond: () => (parser.isTooLong ? "output" : undefined),
    // git collects the whole listing in memory before it prints the first line.
    maxMemoryBytes: Math.min(LIST_MEMORY_BYTES, limits.maxMemoryBytes ?? LIST_MEMORY_BYTES),
  });
  if (!result.ok) throw explainGitError(address, result);
  if (parser.isTooLong) throw explainGitError(address, { ...result, ok: false, endReason: "output" });
  const { listing, count } = parser;
  if (count <= limits.maxRefs) return listing;
  throw setupFailed(
    `The repository ${address.url} has ${count} branches and tags, but this worker allows ${limits.maxRefs}.`,
    "Delete branches and tags that are no longer used.",
  );
}

function formatOf({ refs }: RefListing) {
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
    throw setupFailed("This worker does not support ssh URLs.", "Use the repository's https URL.");
  }
  return address;
}
