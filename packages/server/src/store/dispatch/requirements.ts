import { DEFAULT_SANDBOX } from "@outrider/contract/sandbox-kind";
import { DEFAULT_POOL, type WorkerLabels } from "@outrider/contract/worker-pool";
import type { Fragment } from "postgres";
import type { Sql, Tx } from "../connection/db.ts";
import { json } from "../connection/json.ts";

/** What a run requires of its worker. */
export interface Requirement {
  pool: string;
  /** Labels that the worker must have. */
  selector: WorkerLabels;
  /** If true, the worker must take runs with a harness. */
  needsHarness: boolean;
}

/** A run that waits for a worker. */
export interface WaitingRun extends Requirement {
  /** The worker that keeps its sandbox warm, if only that worker may take it now. */
  workerId: string | null;
}

/** Returns what a run requires that a worker can claim now. */
export async function findWaitingRun(sql: Sql, runId: string): Promise<WaitingRun | undefined> {
  const [row] = await sql<WaitingRun[]>`
    select coalesce(r.pool, ${DEFAULT_POOL}) as pool, coalesce(r.selector, '{}') as selector, h.needs_harness as "needsHarness",
      case when h.state = 'QUEUED' and h.warm_until > outrider_now() then h.warm_worker_id end as "workerId"
    from run_state h left join worker_requirements r using (requirement_id)
    where h.run_id = ${runId} and (h.state = 'QUEUED' or (h.state = 'INPROGRESS' and h.execution_id is null))
      and (h.closing_until is null or h.closing_until <= outrider_now())`;
  return row;
}

/** Where a worker is, and what it offers. */
export interface WorkerPlace {
  pool: string;
  /** Include the kind of its sandboxes. */
  labels: WorkerLabels;
  /** The kind of its sandboxes. */
  sandbox: string;
}

/**
 * The label with the kind of a worker's sandboxes. Dispatch compares it like the labels of operators. These cannot contain a
 * slash, so no operator can set it and no user can select it.
 */
export const SANDBOX_LABEL = "outrider/sandbox";

/** Returns the labels without the kind of sandboxes. */
export function ownLabels({ [SANDBOX_LABEL]: _, ...labels }: WorkerLabels): WorkerLabels {
  return labels;
}

/** Returns the kind of sandboxes of a worker. Workers that are older than the choice announce none. */
export function sandboxOf(sql: Sql, workerId: Fragment) {
  return sql`coalesce((
    select coalesce(w.labels ->> ${SANDBOX_LABEL}, w.stats ->> 'sandbox') from workers w
    where w.worker_id = ${workerId}), ${DEFAULT_SANDBOX})`;
}

/** Each claim compares the labels of its workers with all requirements of their pool, so their number is limited. */
export const MAX_REQUIREMENTS = 1_000;

/**
 * Returns the ID of a requirement, and stores it if it is new. Returns null for runs that any worker of the default pool can
 * execute; run_state itself says whether these need a harness. Returns undefined if there are too many requirements.
 */
export async function storeRequirement(
  sql: Sql,
  { pool, selector, needsHarness }: Requirement,
): Promise<number | null | undefined> {
  if (pool === DEFAULT_POOL && Object.keys(selector).length === 0) return null;
  const find = async () => {
    const [row] = await sql<{ requirement_id: number; is_recent: boolean }[]>`
      select requirement_id, used_at > outrider_now() - interval '1 hour' as is_recent from worker_requirements
      where pool = ${pool} and selector = ${json(sql, selector)} and needs_harness = ${needsHarness}`;
    if (row && !row.is_recent) {
      const { requirement_id } = row;
      await sql`update worker_requirements set used_at = outrider_now() where requirement_id = ${requirement_id}`;
    }
    return row?.requirement_id;
  };
  const known = await find();
  if (known !== undefined) return known;
  const [added] = await sql<{ requirement_id: number }[]>`
    insert into worker_requirements (pool, selector, needs_harness, used_at)
    select ${pool}, ${json(sql, selector)}, ${needsHarness}, outrider_now()
    where (select count(*) from worker_requirements) < ${MAX_REQUIREMENTS}
    on conflict do nothing returning requirement_id`;
  // A concurrent request may have stored it.
  return added?.requirement_id ?? (await find());
}

/**
 * Deletes requirements that no run has. A request stores its run seconds after it has found the requirement, so those that
 * were used within a day remain.
 */
export async function deleteUnusedRequirements(sql: Sql): Promise<void> {
  await sql`
    delete from worker_requirements r
    where used_at < outrider_now() - interval '1 day'
      and not exists (select 1 from run_state h where h.requirement_id = r.requirement_id)`;
}

/**
 * Adds the kind of sandboxes to what a run requires of its worker. The caller must hold the run's lock. Returns false if
 * there are too many requirements.
 */
export async function requireSandbox(tx: Tx, runId: string, sandbox: string): Promise<boolean> {
  const [row] = await tx<[Requirement]>`
    select coalesce(r.pool, ${DEFAULT_POOL}) as pool, h.needs_harness as "needsHarness",
      coalesce(r.selector, '{}') || ${json(tx, { [SANDBOX_LABEL]: sandbox })}::jsonb as selector
    from run_state h left join worker_requirements r using (requirement_id) where h.run_id = ${runId}`;
  const requirementId = await storeRequirement(tx, row);
  if (requirementId === undefined) return false;
  await tx`update run_state set requirement_id = ${requirementId} where run_id = ${runId}`;
  return true;
}

/** Returns a condition for the workers `w` that satisfy a requirement. */
export function satisfies(sql: Sql, { pool, selector, needsHarness }: Requirement) {
  return sql`w.pool = ${pool} and w.labels @> ${json(sql, selector)} ${needsHarness ? sql`and w.takes_harnesses` : sql``}`;
}

/**
 * Returns a condition: whether workers of the place may build the environment with the ID in `column` and open shells in it.
 * `sandbox` is the kind of sandboxes that is needed. Default: that of the environment, which is null for any.
 */
export function matchesEnvironment(
  sql: Sql,
  { pool, labels, sandbox: own }: WorkerPlace,
  column: ReturnType<typeof sql>,
  sandbox = sql`e.config ->> 'sandbox'`,
) {
  return sql`exists (
    select 1 from environments e
    where e.environment_id = ${column} and coalesce(e.config ->> 'worker_host', ${DEFAULT_POOL}) = ${pool}
      and ${json(sql, labels)}::jsonb @> coalesce(e.config -> 'worker_selector', '{}')
      and coalesce(${sandbox}, ${own}) = ${own})`;
}
