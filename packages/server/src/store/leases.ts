import type { RunReceipt, RunUsage } from "@outrider/contract/run";
import type { Signals, Snapshot } from "@outrider/contract/worker";
import { keepPatch } from "./artifacts.ts";
import type { Sql, Tx } from "./db.ts";

/** Claims run one after the other in the whole installation, so that no limit is ever exceeded. */
const CLAIM_LOCK = 7_286_011_433;

export async function lockClaims(tx: Tx): Promise<void> {
  await tx`select pg_advisory_xact_lock(${CLAIM_LOCK})`;
}

/** What a limit can count: a run's owner, key and environment. */
export interface Dimensions {
  owner_uid: string;
  key_id: string;
  environment_id: string | null;
}

export interface Candidate extends Dimensions {
  run_id: string;
  priority: number;
  queued_at: string;
}

export interface Busy extends Dimensions {
  count: number;
}

export async function countBusy(sql: Sql): Promise<Busy[]> {
  return sql<Busy[]>`
    select owner_uid, key_id, environment_id, count(*)::int as count from run_heads
    where state = 'INPROGRESS' group by owner_uid, key_id, environment_id`;
}

export interface ConcurrencyLimit {
  kind: "key" | "environment" | "agent";
  id: string;
  max: number;
}

export async function listConcurrencyLimits(sql: Sql): Promise<ConcurrencyLimit[]> {
  return sql<ConcurrencyLimit[]>`
    select 'key' as kind, key_id as id, (limits -> 'max_concurrent_runs')::int as max from keys
      where limits ? 'max_concurrent_runs'
    union all
    select 'environment', environment_id, (config -> 'max_concurrent_runs')::int from environments
      where config ? 'max_concurrent_runs'
    union all
    select 'agent', uid, max_concurrent_runs from identities where max_concurrent_runs is not null`;
}

/** Runs whose worker was lost: they have a slot already and only want a worker. */
export async function listAbandoned(sql: Sql, limit: number): Promise<Candidate[]> {
  return sql<Candidate[]>`
    select run_id, owner_uid, key_id, environment_id, priority, queued_at from run_heads
    where state = 'INPROGRESS' and execution_id is null
    order by priority desc, queued_at, run_id limit ${limit}`;
}

/** The first runs of every owner's queue, without those that a limit holds back. Walks the index from owner to owner. */
export async function listQueued(
  sql: Sql,
  { each, without }: { each: number; without: { owners: string[]; keys: string[]; environments: string[] } },
): Promise<Candidate[]> {
  return sql<Candidate[]>`
    with recursive owners as (
      (select owner_uid from run_heads where state = 'QUEUED' order by owner_uid limit 1)
      union all
      select (select h.owner_uid from run_heads h where h.state = 'QUEUED' and h.owner_uid > o.owner_uid
        order by h.owner_uid limit 1)
      from owners o where o.owner_uid is not null
    )
    select first.* from owners o cross join lateral (
      select run_id, owner_uid, key_id, environment_id, priority, queued_at from run_heads
      where state = 'QUEUED' and owner_uid = o.owner_uid
        and (closing_until is null or closing_until <= outrider_now())
        and key_id <> all(${without.keys}::uuid[])
        and (environment_id is null or environment_id <> all(${without.environments}::uuid[]))
      order by priority desc, queued_at, run_id limit ${each}
    ) first
    where o.owner_uid is not null and o.owner_uid <> all(${without.owners}::uuid[])`;
}

export interface Lease {
  run_id: string;
  execution_id: string;
  turn: number;
  attempt: number;
  last_seq: number;
  /** Milliseconds that the turn has left. */
  turn_left_ms: number;
  usage: RunUsage | null;
}

/** Hands runs to a worker. A run that was cancelled meanwhile is not among those that come back. */
export async function takeLeases(
  tx: Tx,
  {
    runIds,
    timeouts,
    workerId,
    leaseMs,
  }: { runIds: string[]; timeouts: number[]; workerId: string; leaseMs: number },
): Promise<Lease[]> {
  return tx<Lease[]>`
    update run_heads
    set state = 'INPROGRESS', phase = 'preparing', attempt = attempt + 1, last_seq = last_seq + 1, report_batch = 0,
      execution_id = gen_random_uuid(), worker_id = ${workerId},
      closing_execution_id = null, closing_until = null,
      lease_expires_at = outrider_now() + ${leaseMs} * interval '1 ms',
      turn_deadline_at = coalesce(turn_deadline_at, outrider_now()
        + (${timeouts}::bigint[])[array_position(${runIds}::uuid[], run_id)] * interval '1 ms')
    where run_id = any(${runIds}::uuid[]) and (state = 'QUEUED' or (state = 'INPROGRESS' and execution_id is null))
    returning run_id, execution_id, turn, attempt, last_seq, usage,
      (extract(epoch from turn_deadline_at - outrider_now()) * 1000)::float as turn_left_ms`;
}

/** The other rows of a claim: executions, events, and what lists show. */
export async function recordClaims(
  tx: Tx,
  {
    leases,
    workerId,
    workerName,
    requestId,
  }: { leases: Lease[]; workerId: string; workerName: string; requestId: string },
): Promise<void> {
  const rows = leases.map(({ run_id, execution_id, turn, attempt, last_seq }) => ({
    run_id,
    execution_id,
    turn,
    attempt,
    last_seq,
  }));
  await tx`
    with at as materialized (select outrider_now() as now),
    taken as materialized (
      select * from jsonb_to_recordset(${tx.json(rows)})
        as t(run_id uuid, execution_id uuid, turn int, attempt int, last_seq int)
    ),
    run as (
      update runs set state = 'INPROGRESS', updated_at = now,
        started_at = coalesce(started_at, now),
        session_id = coalesce(session_id, gen_random_uuid())
      from taken, at where runs.run_id = taken.run_id
    ),
    execution as (
      insert into executions (execution_id, run_id, turn, attempt, worker_id, request_id, claimed_at)
      select execution_id, run_id, turn, attempt, ${workerId}::uuid, ${requestId}::uuid, now from taken, at
    )
    insert into events (run_id, seq, type, created_at, turn, attempt, data)
    select run_id, last_seq, 'run.claimed', now, turn, attempt,
      jsonb_build_object('execution_id', execution_id, 'worker', ${workerName}::text)
    from taken, at`;
}

/** Runs, just taken, that messages wait for. A turn that goes on where another worker lost it is resumed. */
export async function listWaiting(
  tx: Tx,
  runIds: string[],
): Promise<{ run_id: string; execution_id: string; resumed: boolean }[]> {
  return tx`
    select run_id, execution_id, exists (
        select 1 from executions e where e.run_id = h.run_id and e.turn = h.turn and e.ended_at is not null) as resumed
    from run_heads h where run_id = any(${runIds}::uuid[])
      and exists (select 1 from followups f where f.run_id = h.run_id and f.delivery = 'queued')`;
}

/** Leases that a request took before, for a claim that is repeated because its answer was lost. */
export async function findLeasesOf(sql: Sql, requestId: string): Promise<Lease[]> {
  return sql<Lease[]>`
    select h.run_id, h.execution_id, h.turn, h.attempt, h.last_seq, h.usage,
      (extract(epoch from h.turn_deadline_at - outrider_now()) * 1000)::float as turn_left_ms
    from executions e join run_heads h on h.run_id = e.run_id and h.execution_id = e.execution_id
    where e.request_id = ${requestId} and e.ended_at is null`;
}

/** The token is checked on the locked row itself; a lease that has run out is not brought back. */
export async function renewLeases(
  sql: Sql,
  { executions, leaseMs }: { executions: { run_id: string; execution_id: string }[]; leaseMs: number },
): Promise<string[]> {
  const runIds = executions.map(({ run_id }) => run_id);
  const tokens = executions.map(({ execution_id }) => execution_id);
  const rows = await sql<{ execution_id: string }[]>`
    update run_heads set lease_expires_at = outrider_now() + ${leaseMs} * interval '1 ms'
    where run_id = any(${runIds}::uuid[]) and execution_id = any(${tokens}::uuid[])
      and lease_expires_at > outrider_now()
    returning execution_id`;
  return rows.map((row) => row.execution_id);
}

/** What waits for the executions that a worker holds. */
export async function listSignals(sql: Sql, workerId: string): Promise<Signals> {
  const executions = await sql<Signals["executions"]>`
    select h.execution_id,
      coalesce(bool_or(f.mode <> 'queue'), false) as waiting,
      coalesce(array_agg(f.followup_id) filter (where f.mode = 'interrupt'), '{}') as interrupts
    from executions e join run_heads h on h.run_id = e.run_id and h.execution_id = e.execution_id
      left join followups f on f.run_id = h.run_id and f.delivery = 'queued'
    where e.worker_id = ${workerId} and e.ended_at is null
    group by h.execution_id order by h.execution_id`;
  const [worker] = await sql<
    { draining: boolean }[]
  >`select draining from workers where worker_id = ${workerId}`;
  return { executions: [...executions], draining: worker?.draining ?? false };
}

export interface Overdue {
  run_id: string;
  state: "QUEUED" | "INPROGRESS" | "BLOCKED";
  reason: "lease" | "turn" | "queue" | "answer";
}

/** What has passed a bound: lost leases, turns, waits for a worker and for an answer. Of all runs, or of one. */
export async function listOverdue(
  sql: Sql,
  bounds: { graceMs: number; wrapUpMs: number; queueMs: number; blockedMs: number },
  runId?: string,
): Promise<Overdue[]> {
  return sql<Overdue[]>`
    with at as materialized (select outrider_now() as now)
    select run_id, state, case
        when state = 'QUEUED' then 'queue'
        when state = 'BLOCKED' then 'answer'
        when turn_deadline_at <= now - ${bounds.wrapUpMs} * interval '1 ms' then 'turn'
        else 'lease' end as reason
    from run_heads, at
    where state in ('QUEUED', 'INPROGRESS', 'BLOCKED') ${runId ? sql`and run_id = ${runId}` : sql``}
      and ((state = 'INPROGRESS' and (turn_deadline_at <= now - ${bounds.wrapUpMs} * interval '1 ms'
        or (execution_id is not null and lease_expires_at <= now - ${bounds.graceMs} * interval '1 ms')))
      or (state = 'QUEUED' and queued_at <= now - ${bounds.queueMs} * interval '1 ms')
      or (state = 'BLOCKED' and blocked_at <= now - ${bounds.blockedMs} * interval '1 ms'))
    limit 500`;
}

/** Takes the lease away and says why, in the log. The run stays INPROGRESS and waits for another worker. */
export async function abandonLease(
  tx: Tx,
  {
    runId,
    executionId,
    reason,
    refund,
  }: { runId: string; executionId: string; reason: string; refund: boolean },
): Promise<boolean> {
  const [head] = await tx<{ last_seq: number; turn: number; attempt: number }[]>`
    update run_heads
    set phase = 'recovering', execution_id = null, worker_id = null, lease_expires_at = null, last_seq = last_seq + 1,
      attempt = attempt - ${refund ? 1 : 0}
    where run_id = ${runId} and execution_id = ${executionId} and state = 'INPROGRESS'
    returning last_seq, turn, attempt`;
  if (!head) return false;
  await tx`
    insert into events (run_id, seq, type, created_at, turn, attempt, data)
    select ${runId}, ${head.last_seq}, 'run.recovering', outrider_now(), ${head.turn}, ${head.attempt + (refund ? 1 : 0)},
      jsonb_strip_nulls(jsonb_build_object('reason', ${reason}::text, 'restored_seq', snapshot_seq))
    from runs where run_id = ${runId}`;
  return true;
}

export async function keepSnapshot(tx: Tx, runId: string, { sha256, seq, diff }: Snapshot): Promise<void> {
  await tx`update runs set snapshot_sha256 = ${sha256}, snapshot_seq = ${seq} where run_id = ${runId}`;
  if (diff) await keepPatch(tx, runId, diff);
}

export async function keepReceipt(tx: Tx, runId: string, receipt: RunReceipt): Promise<void> {
  await tx`update runs set receipt = ${tx.json(receipt as never)} where run_id = ${runId}`;
}

export async function keepUsage(tx: Tx, runId: string, usage: RunUsage): Promise<void> {
  await tx`update run_heads set usage = ${tx.json(usage)} where run_id = ${runId}`;
}

const COUNTED = 1_000;

/** Runs that come before it by priority and age. Who is served least may still change the order. */
export async function placeInQueue(sql: Sql, runId: string): Promise<number> {
  const [row] = await sql<{ position: number }[]>`
    select count(*)::int + 1 as position from (
      select 1 from run_heads mine join run_heads h on h.state = 'QUEUED'
        and (-h.priority, h.queued_at, h.run_id) < (-mine.priority, mine.queued_at, mine.run_id)
      where mine.run_id = ${runId} limit ${COUNTED - 1}
    ) ahead`;
  return row?.position ?? 1;
}

export async function findDimensions(sql: Sql, runId: string): Promise<Dimensions | undefined> {
  const [row] = await sql<Dimensions[]>`
    select owner_uid, key_id, environment_id from run_heads where run_id = ${runId} and state = 'QUEUED'`;
  return row;
}
