import { Failure } from "@outrider/agent/failure";
import type { CheckedOutRepository } from "@outrider/contract/run";
import type { AssignedEnvironment } from "@outrider/contract/worker/environment";
import type { KnownObjects } from "../repositories/known-objects.ts";
import type { MirrorRequest } from "../repositories/mirror-archive.ts";
import type { Repositories, Repository, Resolved, Submodule } from "../repositories/repository.ts";
import { RepositoryError } from "../repositories/repository-error.ts";

type EnvironmentRepository = AssignedEnvironment["repos"][number];

/** A repository of the environment, resolved to a commit. */
export interface ResolvedRepository extends CheckedOutRepository, Resolved {
  ref?: string;
}

/** A repository whose mirrors contain all that a checkout needs. */
export interface FetchedRepository extends ResolvedRepository {
  submodules: Submodule[];
  usesLfs: boolean;
  lfsObjects: string[];
  sparsePaths?: string[];
}

/** Returns how the worker fetches one of the environment's repositories. */
export function repositoryOf(
  repository: EnvironmentRepository,
  credentials: AssignedEnvironment["credentials"],
): Repository {
  const { url, ref, sparse_paths } = repository;
  return {
    url,
    ...(ref ? { ref } : {}),
    ...credentialOf(repository, credentials),
    ...(sparse_paths ? { sparsePaths: sparse_paths } : {}),
  };
}

/**
 * Returns the credential of a repository. Environments that use the same secret or forge share a mirror. The name of the
 * secret or the id of the forge identifies the mirror, so that it survives a change of the credential.
 */
export function credentialOf(
  { url, secret, forge_id }: Pick<EnvironmentRepository, "url" | "secret" | "forge_id">,
  credentials: AssignedEnvironment["credentials"],
): Pick<Repository, "credential" | "sharedBy"> {
  if (secret !== undefined) {
    const credential = credentials[secret];
    return credential ? { credential, sharedBy: secret } : {};
  }
  if (forge_id === undefined) return {};
  const credential = credentials[forgeCredentialName(forge_id, url)] ?? credentials[forge_id];
  return { sharedBy: `forge ${forge_id}`, ...(credential ? { credential } : {}) };
}

/** A forge may issue a credential for one repository only. */
export const forgeCredentialName = (forgeId: string, url: string) => `${forgeId} ${url}`;

/** Fetches what checkouts of the repositories need besides their own objects. */
export async function fetchRepositoryContents(
  repositories: Repositories,
  { repos, credentials }: AssignedEnvironment,
  {
    resolved,
    signal,
    emitNotice,
  }: { resolved: ResolvedRepository[]; signal: AbortSignal; emitNotice(message: string): void },
): Promise<FetchedRepository[]> {
  const lenders = repos.map((repo) => repositoryOf(repo, credentials));
  return Promise.all(
    resolved.map(async (repository) => {
      const { url, path } = repository;
      const repo = repos.find((each) => each.url === url && each.path === path) as EnvironmentRepository;
      const { notices, ...contents } = await repositories
        .fetchContents(repositoryOf(repo, credentials), repository, {
          lenders,
          signal,
          ...(repo.submodules === undefined ? {} : { submodules: repo.submodules }),
          ...(repo.lfs === undefined ? {} : { lfs: repo.lfs }),
        })
        .catch((error) => {
          throw error instanceof RepositoryError
            ? new Failure(error.code, `${error.message} ${error.remedy}`)
            : error;
        });
      for (const message of notices) emitNotice(`${url}: ${message}`);
      return {
        ...repository,
        ...contents,
        ...(repo.sparse_paths ? { sparsePaths: repo.sparse_paths } : {}),
      };
    }),
  );
}

/** Returns what the checkout needs from mirrors: first from that of the repository, then from those of its submodules. */
export function mirrorRequests(
  { mirror, commit, submodules, lfsObjects, sparsePaths }: FetchedRepository,
  known: (KnownObjects | undefined)[] = [],
): MirrorRequest[] {
  const all = [
    { mirror, commit, lfsObjects, isPartial: sparsePaths !== undefined },
    ...submodules.map((each) => ({ ...each, isPartial: false })),
  ];
  return all.map((each, index) => ({ ...each, known: known[index] }));
}
