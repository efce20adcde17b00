import type { RunUsage } from "@outrider/contract/run";
import type { Snapshot } from "@outrider/contract/worker";
import { DEFAULT_POOL } from "@outrider/contract/worker-pool";
import type { Sql, Tx } from "../connection/db.ts";
import { json } from "../connection/json.ts";
import { storePatch } from "../runs/artifacts.ts";
import { ACTIVE_READS_PER_SECOND, activeTotal, type Dimensions } from "./active-runs.ts";
import type { Requirement } from "./requirements.ts";

interface LeaseRenewal {
  workerId: string;
  executions: { run_id: string; execution_id: string }[];
  leaseMs: number;
}

/** Renews a worker's leases, except expired ones, and returns the executions that still hold theirs. */
export async function renewLeases(
  sql: Sql,
  { workerId, executions, leaseMs }: LeaseRenewal,
): Promise<string[]> {
  const runIds = executions.map(({ run_id }) => run_id);
  const tokens = executions.map(({ execution_id }) => execution_id);
  const rows = await sql<{ execution_id: string }[]>`
    update run_state set lease_expires_at = outrider_now() + ${leaseMs} * interval '1 ms'
    where run_id = any(${runIds}::uuid[]) and execution_id = any(${tokens}::uuid[])
      and worker_id = ${workerId} and lease_expires_at > outrider_now()
    returning execution_id`;
  return rows.map((row) => row.execution_id);
}

export interface Overdue {
  run_id: string;
  state: "QUEUED" | "INPROGRESS" | "BLOCKED";
  reason: "lease" | "turn" | "queue" | "answer";
}

interface OverdueOptions {
  /** Checks only this run. */
  runId?: string;
  /** Returns nothing if a server has called this within so many milliseconds. */
  turnMs?: number | undefined;
}

/**
 * Returns the runs that exceed a time limit (see engine/dispatch/reaper.ts). It reads all active runs, so servers take turns:
 * the number of servers does not change how often they are read. Many active runs are not read in each turn, see
 * ACTIVE_READS_PER_SECOND. It must not read a long queue. A run that has waited too long was also created at least that long
 * ago, so an index on creation time finds it.
 */
export async function listOverdue(
  sql: Sql,
  limits: { graceMs: number; wrapUpMs: number; queueMs: number; blockedMs: number },
  { runId, turnMs }: OverdueOptions = {},
): Promise<Overdue[]> {
  const ago = (ms: number) => sql`outrider_now() - ${ms} * interval '1 ms'`;
  const turn =
    turnMs === undefined
      ? sql``
      : sql`with turn as (
          insert into reaper_turn as turn (taken_at, active_read_at) values (outrider_now(), outrider_now())
          on conflict (is_only_row) do update set taken_at = excluded.taken_at,
            active_read_at = case when turn.active_read_at between outrider_now()
                - ${activeTotal(sql)} * interval '1 s' / ${ACTIVE_READS_PER_SECOND}::float8 and outrider_now()
              then turn.active_read_at else excluded.active_read_at end
          where turn.taken_at not between ${ago(turnMs)} and outrider_now()
          returning active_read_at = taken_at as reads_active)`;
  const ofRun = runId === undefined ? sql`` : sql`and run_id = ${runId}`;
  // It has no columns, so PostgreSQL reads no run if it is false.
  const inTurn = turnMs === undefined ? sql`` : sql`and (select count(*) from turn) = 1`;
  const conditions = sql`${ofRun} ${inTurn}`;
  const readsActive = turnMs === undefined ? sql`` : sql`and (select reads_active from turn)`;
  return sql<Overdue[]>`
    ${turn}
    select h.run_id, h.state, 'queue' as reason from runs r join run_state h using (run_id)
    where r.state = 'QUEUED' and r.created_at <= (select ${ago(limits.queueMs)}) ${conditions}
      and h.state = 'QUEUED' and h.queued_at <= (select ${ago(limits.queueMs)})
    union all
    select h.run_id, h.state, 'answer' from runs r join run_state h using (run_id)
    where r.state = 'BLOCKED' and r.created_at <= (select ${ago(limits.blockedMs)}) ${conditions}
      and h.state = 'BLOCKED' and h.blocked_at <= (select ${ago(limits.blockedMs)})
    union all
    select run_id, state, case when turn_deadline_at <= (select ${ago(limits.wrapUpMs)}) then 'turn' else 'lease' end
    from run_state
    where state = 'INPROGRESS' and (turn_deadline_at <= (select ${ago(limits.wrapUpMs)})
      or (execution_id is not null and lease_expires_at <= (select ${ago(limits.graceMs)}))) ${ofRun} ${readsActive}
    limit 500`;
}

/**
 * Revokes the lease, ends the execution and appends the reason to the log. The run remains INPROGRESS and waits for
 * another worker. A refunded attempt does not count. The caller must hold the run's lock.
 */
export async function abandonLease(
  tx: Tx,
  {
    runId,
    executionId,
    reason,
    outcome,
    refund,
  }: {
    runId: string;
    executionId: string;
    reason: string;
    outcome: "LOST" | "RELEASED" | "STALLED";
    refund: boolean;
  },
): Promise<void> {
  await tx`
    with updated as (
      update run_state
      set phase = 'recovering', execution_id = null, worker_id = null, lease_expires_at = null, last_seq = last_seq + 1,
        attempt = attempt - ${refund ? 1 : 0}
      where run_id = ${runId} and execution_id = ${executionId}
      returning run_id, last_seq, turn, attempt + ${refund ? 1 : 0} as attempt
    ),
    execution as (
      update executions set ended_at = outrider_now(), outcome = ${outcome} where execution_id = ${executionId}
    )
    select outrider_insert_events(run_id, last_seq, turn, updated.attempt, jsonb_build_array(jsonb_build_object(
      'type', 'run.recovering', 'data', jsonb_strip_nulls(jsonb_build_object(
        'reason', ${reason}::text, 'restored_seq', snapshot_seq)))))
    from updated join runs using (run_id)`;
}

/** Counts an interruption and, if requested, isolates the run. The caller must hold the run's lock. */
export async function countInterruption(
  tx: Tx,
  runId: string,
  { isolate }: { isolate: boolean },
): Promise<void> {
  await tx`
    update run_state set interruptions = interruptions + 1, is_isolated = is_isolated or ${isolate}
    where run_id = ${runId}`;
}

export async function isIsolated(sql: Sql, runId: string): Promise<boolean> {
  const [row] = await sql<
    { is_isolated: boolean }[]
  >`select is_isolated from run_state where run_id = ${runId}`;
  return row?.is_isolated ?? false;
}

export async function storeSnapshot(tx: Tx, runId: string, { sha256, seq, diff }: Snapshot): Promise<void> {
  await tx`update runs set snapshot_sha256 = ${sha256}, snapshot_seq = ${seq} where run_id = ${runId}`;
  if (diff) await storePatch(tx, runId, diff);
}

/** Names the run after its skill, unless the caller specified a name. */
export async function nameAfterSkill(tx: Tx, runId: string, name: string): Promise<void> {
  await tx`
    update runs set config_name = ${name}, agent_config = agent_config || ${json(tx, { name })}
    where run_id = ${runId} and named_by_skill and config_name is distinct from ${name}`;
}

export async function storeUsage(tx: Tx, runId: string, usage: RunUsage): Promise<void> {
  await tx`update run_state set usage = ${json(tx, usage)} where run_id = ${runId}`;
  // The run has ended, so no change of its state will count this usage.
  await tx`update runs set counted_state = null where run_id = ${runId}`;
}

const MAX_POSITION = 1_000;

/**
 * Returns a run's queue position by priority and age. The actual order may differ, because it also depends on fairness
 * between owners.
 */
export async function findQueuePosition(sql: Sql, runId: string): Promise<number> {
  const [row] = await sql<{ position: number }[]>`
    select count(*)::int + 1 as position from (
      select 1 from run_state mine join run_state h on h.state = 'QUEUED'
        and (-h.priority, h.queued_at, h.run_id) < (-mine.priority, mine.queued_at, mine.run_id)
      where mine.run_id = ${runId} limit ${MAX_POSITION - 1}
    ) ahead`;
  return row?.position ?? 1;
}

export interface QueuedRun extends Dimensions {
  requirement: Requirement;
}

export async function findQueuedRun(sql: Sql, runId: string): Promise<QueuedRun | undefined> {
  const [row] = await sql<QueuedRun[]>`
    select h.owner_uid, h.key_id, h.environment_id, jsonb_build_object('pool', coalesce(r.pool, ${DEFAULT_POOL}),
      'selector', coalesce(r.selector, '{}'), 'needsHarness', h.needs_harness) as requirement
    from run_state h left join worker_requirements r using (requirement_id)
    where h.run_id = ${runId} and h.state = 'QUEUED'`;
  return row;
}
