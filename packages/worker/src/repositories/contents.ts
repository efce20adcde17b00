import type { Address, AddressRules } from "./address.ts";
import { mapConcurrently } from "./map-concurrently.ts";
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

interface FetchOptions {
  repositories: Repositories;
  repository: Repository;
  resolved: Resolved;
  request: ContentsOptions;
  addressOf(repository: Repository): Address;
  rules: AddressRules;
  fetchLfs(repository: Repository, resolved: Resolved): Promise<string[]>;
}

interface Parent {
  /** Empty for the repository itself. */
  path: string;
  repository: Repository;
  resolved: Resolved;
}

/** Fetches a commit's Git LFS files, and its submodules level by level, so that parents precede their children. */
export async function fetchContents(options: FetchOptions): Promise<Contents> {
  const { repository, resolved, request, addressOf } = options;
  const { url } = repository;
  const submodules: Submodule[] = [];
  const notices: string[] = [];
  const usesLfs = request.lfs !== false && resolved.tree.usesLfs;
  const lfsObjects = usesLfs ? await options.fetchLfs(repository, resolved) : [];
  if (request.submodules === false) return { submodules, usesLfs, lfsObjects, notices };
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
  return { submodules, usesLfs, lfsObjects, notices };
}

async function fetchSubmodule(
  { repositories, fetchLfs, request: { signal, lfs } }: FetchOptions,
  { parent, source }: { parent: Parent; source: SubmoduleSource },
) {
  const { name, url, commit, repository } = source;
  const path = parent.path ? `${parent.path}/${source.path}` : source.path;
  try {
    const resolved = await repositories.resolve(repository, { signal });
    const usesLfs = lfs !== false && resolved.tree.usesLfs;
    const lfsObjects = usesLfs ? await fetchLfs(repository, resolved) : [];
    const { mirror } = resolved;
    const submodule = { path, parent: parent.path, name, url, commit, mirror, usesLfs, lfsObjects };
    return { submodule, repository, resolved };
  } catch (error) {
    throw error instanceof RepositoryError ? explainSubmodule(error, { path, url }) : error;
  }
}
