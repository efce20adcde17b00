import type { EnvironmentRequest } from "@outrider/contract/environment";
import type { PublishKind } from "@outrider/contract/publish-policy";
import type { Sql, Tx } from "./connection/db.ts";
import { json } from "./connection/json.ts";

/** What determines the publications of a run. */
export interface PublishingRun {
  title: string;
  /** The run's `config.publish`. */
  configured: PublishKind | null;
  repos: NonNullable<EnvironmentRequest["repos"]>;
  /** The outcome of the turn, if it waits for approvals. */
  planned_outcome: PlannedOutcome | null;
}

export interface PlannedOutcome {
  text: string;
  output?: unknown;
}

export async function findPublishingRun(sql: Sql, runId: string): Promise<PublishingRun | undefined> {
  const [row] = await sql<PublishingRun[]>`
    select r.title, r.agent_config ->> 'publish' as configured, coalesce(e.config -> 'repos', '[]') as repos,
      r.planned_outcome
    from runs r left join environments e using (environment_id) where r.run_id = ${runId}`;
  return row;
}

/** Stores the outcome of a turn that waits for approvals, or removes it. The caller must hold the run's lock. */
export async function storePlannedOutcome(
  tx: Tx,
  runId: string,
  outcome: PlannedOutcome | undefined,
): Promise<void> {
  await tx`update runs set planned_outcome = ${json(tx, outcome)} where run_id = ${runId}`;
}

/** Returns the agent's final answer of the last turn that succeeded. */
export async function findFinalAnswer(sql: Sql, runId: string): Promise<string | undefined> {
  const [row] = await sql<{ text: string | null }[]>`
    select data ->> 'text' as text from events where run_id = ${runId} and type = 'run.succeeded'
    order by seq desc limit 1`;
  return row?.text ?? undefined;
}

/** The branch of a run in one repository. It never changes after the first push. */
export interface RunBranch {
  path: string;
  branch: string;
  /** The staged commit that was pushed last, and what it became on the branch. */
  pushed_tip: string | null;
  pushed_commit: string | null;
}

export async function listRunBranches(sql: Sql, runId: string): Promise<RunBranch[]> {
  return sql<RunBranch[]>`
    select path, branch, pushed_tip, pushed_commit from run_branches where run_id = ${runId} order by path`;
}

/**
 * Reserves a branch for a run. Returns the run that has the branch already, if it is another one. A branch that the run
 * has pushed is not replaced. Waits for a concurrent reservation of the same branch.
 */
export async function reserveBranch(
  tx: Tx,
  { runId, path, repositoryKey, branch }: Record<"runId" | "path" | "repositoryKey" | "branch", string>,
): Promise<string | undefined> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`branch ${repositoryKey} ${branch}`}, 0))`;
  const [other] = await tx<{ run_id: string }[]>`
    select run_id from run_branches
    where repository_key = ${repositoryKey} and branch = ${branch} and (run_id, path) <> (${runId}, ${path})`;
  if (other) return other.run_id;
  await tx`
    insert into run_branches (run_id, path, repository_key, branch)
    values (${runId}, ${path}, ${repositoryKey}, ${branch})
    on conflict (run_id, path) do update set repository_key = excluded.repository_key, branch = excluded.branch
    where run_branches.pushed_commit is null`;
  return undefined;
}

export async function recordPush(
  tx: Tx,
  { runId, path, tip, commit }: Record<"runId" | "path" | "tip" | "commit", string>,
): Promise<void> {
  await tx`
    update run_branches set pushed_tip = ${tip}, pushed_commit = ${commit}
    where run_id = ${runId} and path = ${path}`;
}
