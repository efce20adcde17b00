import { Failure } from "@outrider/agent/failure";
import { isRepository, parseSkillSpec, type SkillSpec } from "@outrider/agent/skills/spec";
import type { CheckedOut } from "@outrider/contract/run";
import type { Assignment } from "@outrider/contract/worker";
import { RepositoryError } from "../repositories/error.ts";
import type { Repositories, Repository } from "../repositories/repositories.ts";

/** The repository of a run's skill, at the commit that holds for the run's life. */
export interface SkillSource {
  spec: SkillSpec;
  url: string;
  commit: string;
  mirror: string;
  /** Of its SKILL.md, where an earlier turn has found it. */
  path?: string;
  /** Where it is checked out in the workspace, if it is one of the environment's. */
  checkout?: string;
}

interface Options {
  assignment: Assignment;
  /** What the run's environment has checked out. */
  checkedOut: readonly CheckedOut[];
  repositories: Repositories;
  signal: AbortSignal;
}

/** The environment's repositories come first. Any other is taken from the git host, where it is open to everybody. */
export async function resolveSource(skillSpec: string, options: Options): Promise<SkillSource> {
  const { assignment, checkedOut, repositories, signal } = options;
  const spec = parseSkillSpec(skillSpec);
  const { owner, repo } = spec;
  if ([owner, repo].some((part) => /^\.+$/.test(part))) {
    throw new Failure("skill_not_found", `"${owner}/${repo}" names no repository.`);
  }
  const before = assignment.receipt?.skill;
  const earlier = before?.skill_spec === skillSpec ? before : undefined;
  const mine = checkedOut.find(({ url }) => (earlier ? url === earlier.repository : isRepository(url, spec)));
  const url = earlier?.repository ?? mine?.url ?? `${assignment.git_host}/${owner}/${repo}.git`;
  const wanted = { url, ...(mine ? accessOf(assignment, mine) : {}) };
  const known = earlier?.commit ?? mine?.commit;
  const found = await fetchCommit(repositories, { wanted, known, signal }).catch((error) => {
    throw error instanceof RepositoryError ? unreachable(spec, error, mine !== undefined) : error;
  });
  return {
    spec,
    url,
    ...found,
    ...(earlier ? { path: earlier.path } : {}),
    ...(mine ? { checkout: mine.path } : {}),
  };
}

/** A commit that is known and here is not asked for again: a run goes on while its git host is away. */
async function fetchCommit(
  repositories: Repositories,
  { wanted, known, signal }: { wanted: Repository; known: string | undefined; signal: AbortSignal },
): Promise<{ commit: string; mirror: string }> {
  const here = known && (await repositories.find(wanted, known, { signal }));
  if (known && here) return { commit: known, mirror: here };
  const { commit, mirror } = await repositories.resolve(
    { ...wanted, ...(known ? { ref: known } : {}) },
    { signal },
  );
  return { commit, mirror };
}

/** As build.ts fetches it, so that it is the same mirror. */
function accessOf({ environment }: Assignment, { url, path }: CheckedOut): Partial<Repository> {
  const { repos = [], credentials = {} } = environment ?? {};
  const secret = repos.find((one) => one.url === url && one.path === path)?.secret;
  const credential = secret === undefined ? undefined : credentials[secret];
  return secret !== undefined && credential !== undefined ? { credential, sharedBy: secret } : {};
}

function unreachable({ text, owner, repo }: SkillSpec, error: RepositoryError, isMine: boolean): Failure {
  const hint = isMine
    ? ""
    : ` None of the environment's repositories is ${owner}/${repo}; one that is not open to everybody has to be among them.`;
  return new Failure("skill_not_found", `The skill ${text} cannot be read: ${error.message}${hint}`);
}
