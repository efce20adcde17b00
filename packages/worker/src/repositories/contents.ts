import type { Address, AddressRules } from "./address.ts";
import type {
  Contents,
  ContentsOptions,
  Repositories,
  Repository,
  Resolved,
  Submodule,
} from "./repository.ts";
import { RepositoryError } from "./repository-error.ts";
import {
  explainSubmodule,
  findSubmodules,
  MAX_SUBMODULE_DEPTH,
  MAX_SUBMODULES,
  type SubmoduleSource,
  tooManySubmodules,
} from "./submodules.ts";

const CONCURRENT_FETCHES = 4;

interface FetchOptions {
  repositories: Repositories;
  repository: Repository;
  resolved: Resolved;
  request: ContentsOptions;
  addressOf(repository: Repository): Address;
  rules: AddressRules;
}

interface Parent {
  /** Empty for the repository itself. */
  path: string;
  repository: Repository;
  resolved: Resolved;
}

/** Fetches a commit's submodules level by level, so that parents precede their children. */
export async function fetchContents(options: FetchOptions): Promise<Contents> {
  const { repository, resolved, request, addressOf } = options;
  const { url } = repository;
  const submodules: Submodule[] = [];
  const notices: string[] = [];
  if (request.submodules === false) return { submodules, notices };
  let parents: Parent[] = [{ path: "", repository, resolved }];
  for (let depth = 0; parents.some((parent) => parent.resolved.tree.submodules.length > 0); depth++) {
    const found: { parent: Parent; source: SubmoduleSource }[] = [];
    for (const parent of parents) {
      const gitlinks = parent.resolved.tree.submodules;
      if (gitlinks.length === 0) continue;
      if (gitlinks.length > MAX_SUBMODULES) throw tooManySubmodules(url);
      const address = addressOf(parent.repository);
      const { mirror, commit } = parent.resolved;
      const sources = await findSubmodules({
        ...{ gitlinks, lenders: request.lenders, rules: options.rules, signal: request.signal },
        parent: { repository: parent.repository, address, mirror, commit },
        emitNotice: (message) => notices.push(message),
      });
      found.push(...sources.map((source) => ({ parent, source })));
    }
    const isTooDeep = found.length > 0 && depth === MAX_SUBMODULE_DEPTH;
    if (isTooDeep || submodules.length + found.length > MAX_SUBMODULES) throw tooManySubmodules(url);
    const level = await mapConcurrently(found, (each) => fetchSubmodule(options, each));
    submodules.push(...level.map(({ submodule }) => submodule));
    notices.push(...level.flatMap((each) => each.resolved.notices));
    parents = level.map((each) => ({ path: each.submodule.path, ...each }));
  }
  return { submodules, notices };
}

async function fetchSubmodule(
  { repositories, request: { signal } }: FetchOptions,
  { parent, source }: { parent: Parent; source: SubmoduleSource },
) {
  const { name, url, commit, repository } = source;
  const path = parent.path ? `${parent.path}/${source.path}` : source.path;
  const resolved = await repositories.resolve(repository, { signal }).catch((error) => {
    throw error instanceof RepositoryError ? explainSubmodule(error, { path, url }) : error;
  });
  const submodule = { path, parent: parent.path, name, url, commit, mirror: resolved.mirror };
  return { submodule, repository, resolved };
}

/**
 * Calls a function for all items, a few at a time, and returns the results in order. After an error, it starts no more
 * calls, and rejects when the others have ended.
 */
export async function mapConcurrently<T, R>(items: T[], call: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const errors: unknown[] = [];
  const queue = items.entries();
  const work = async () => {
    for (const [index, item] of queue) {
      if (errors.length > 0) return;
      results[index] = await call(item);
    }
  };
  const workers = Array.from({ length: CONCURRENT_FETCHES }, () =>
    work().catch((error) => errors.push(error)),
  );
  await Promise.all(workers);
  if (errors.length > 0) throw errors[0];
  return results;
}
