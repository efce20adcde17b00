import { Failure } from "@outrider/agent/failure";
import { isRepository, parseSkillSpec, type SkillSpec } from "@outrider/agent/skills/spec";
import type { CheckedOutRepository } from "@outrider/contract/run";
import type { Assignment } from "@outrider/contract/worker";
import { credentialOf } from "../builds/repository-contents.ts";
import type { Repositories, Repository } from "../repositories/repository.ts";
import { RepositoryError } from "../repositories/repository-error.ts";

/** The repository of a run's skill, at a commit that remains the same for the whole run. */
export interface SkillSource {
  spec: SkillSpec;
  url: string;
  commit: string;
  mirror: string;
  /** The path of the skill's SKILL.md, if an earlier turn found it. */
  path?: string;
  /** The path of the checkout in the workspace, if the repository is part of the environment. */
  checkout?: string;
}

interface Options {
  assignment: Assignment;
  /** The repositories of the run's environment. */
  checkedOut: readonly CheckedOutRepository[];
  repositories: Repositories;
  signal: AbortSignal;
}

/** Finds a skill's repository: one of the environment's, or a public one on the git host. */
export async function resolveSkillSource(skillSpec: string, options: Options): Promise<SkillSource> {
  const { assignment, checkedOut, repositories, signal } = options;
  const spec = parseSkillSpec(skillSpec);
  const { owner, repo } = spec;
  if ([owner, repo].some((part) => /^\.+$/.test(part))) {
    throw new Failure("skill_not_found", `"${owner}/${repo}" is not a valid repository name.`);
  }
  const previous = assignment.receipt?.skill;
  const earlier = previous?.skill_spec === skillSpec ? previous : undefined;
  const ownRepository = checkedOut.find(({ url }) =>
    earlier ? url === earlier.repository : isRepository(url, spec),
  );
  const url = earlier?.repository ?? ownRepository?.url ?? `${assignment.git_host}/${owner}/${repo}.git`;
  const repository = { url, ...(ownRepository ? accessOf(assignment, ownRepository) : {}) };
  const knownCommit = earlier?.commit ?? ownRepository?.commit;
  const found = await fetchCommit(repositories, { repository, commit: knownCommit, signal }).catch(
    (error) => {
      throw error instanceof RepositoryError ? unreadable(spec, error, ownRepository !== undefined) : error;
    },
  );
  return {
    spec,
    url,
    ...found,
    ...(earlier ? { path: earlier.path } : {}),
    ...(ownRepository ? { checkout: ownRepository.path } : {}),
  };
}

/** Uses a known commit from the cache if possible, so that a run can continue while its git host is unreachable. */
async function fetchCommit(
  repositories: Repositories,
  {
    repository,
    commit: knownCommit,
    signal,
  }: { repository: Repository; commit: string | undefined; signal: AbortSignal },
): Promise<{ commit: string; mirror: string }> {
  const cached = knownCommit && (await repositories.find(repository, knownCommit, { signal }));
  if (knownCommit && cached) return { commit: knownCommit, mirror: cached };
  const { commit, mirror } = await repositories.resolve(
    { ...repository, ...(knownCommit ? { ref: knownCommit } : {}) },
    { signal },
  );
  return { commit, mirror };
}

/** Returns the options for accessing a repository. They must match those in build.ts, so that both share a mirror. */
export function accessOf(
  { environment }: Assignment,
  { url, path }: CheckedOutRepository,
): Partial<Repository> {
  const { repos = [], credentials = {} } = environment ?? {};
  const repo = repos.find((each) => each.url === url && each.path === path);
  if (!repo) return {};
  const { sparse_paths } = repo;
  return { ...credentialOf(repo, credentials), ...(sparse_paths ? { sparsePaths: sparse_paths } : {}) };
}

function unreadable({ text, owner, repo }: SkillSpec, error: RepositoryError, isOwn: boolean): Failure {
  const message = `Cannot read the skill ${text}: ${error.message}`;
  // Nothing is known about the skill, and another attempt may succeed.
  if (error.code === "repository_unreachable") return new Failure(error.code, message);
  const hint = isOwn
    ? ""
    : ` The environment does not include ${owner}/${repo}. Add it to the environment if it is private.`;
  return new Failure("skill_not_found", message + hint);
}
