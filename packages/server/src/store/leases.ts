import type { RunReceipt, RunUsage } from "@outrider/contract/run";
import type { Signals, Snapshot } from "@outrider/contract/worker";
import { keepPatch } from "./artifacts.ts";
import type { Sql, Tx } from "./db.ts";

/** What a limit can count: a run's owner, key and environment. */
export interface Dimensions {
  owner_uid: string;
  key_id: string;
  environment_id: string | null;
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
  return sql<ConcurrencyLimit[]>`select kind, id, max from concurrency_limits`;
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

/**
 * What has passed a bound: lost leases, turns, waits for a worker and for an answer. Of all runs, or of one. Asked each
 * second, so a long queue must not be read for it: who waits too long is among the runs that were created so long ago,
 * which have an index.
 */
export async function listOverdue(
  sql: Sql,
  bounds: { graceMs: number; wrapUpMs: number; queueMs: number; blockedMs: number },
  runId?: string,
): Promise<Overdue[]> {
  const one = runId ? sql`and run_id = ${runId}` : sql``;
  const ago = (ms: number) => sql`outrider_now() - ${ms} * interval '1 ms'`;
  return sql<Overdue[]>`
    select h.run_id, h.state, 'queue' as reason from runs r join run_heads h using (run_id)
    where r.state = 'QUEUED' and r.created_at <= (select ${ago(bounds.queueMs)}) ${one}
      and h.state = 'QUEUED' and h.queued_at <= (select ${ago(bounds.queueMs)})
    union all
    select h.run_id, h.state, 'answer' from runs r join run_heads h using (run_id)
    where r.state = 'BLOCKED' and r.created_at <= (select ${ago(bounds.blockedMs)}) ${one}
      and h.state = 'BLOCKED' and h.blocked_at <= (select ${ago(bounds.blockedMs)})
    union all
    select run_id, state, case when turn_deadline_at <= (select ${ago(bounds.wrapUpMs)}) then 'turn' else 'lease' end
    from run_heads
    where state = 'INPROGRESS' and (turn_deadline_at <= (select ${ago(bounds.wrapUpMs)})
      or (execution_id is not null and lease_expires_at <= (select ${ago(bounds.graceMs)}))) ${one}
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

/** A worker says that the run's sandbox stands for a while after its end. */
export async function keepSandbox(tx: Tx, runId: string, workerId: string, minutes: number): Promise<void> {
  await tx`
    update run_heads set kept_worker_id = ${workerId}, kept_until = outrider_now() + ${minutes} * interval '1 minute'
    where run_id = ${runId}`;
}

/** With it comes what the skill calls itself, which is the run's name where the caller gave none. */
export async function keepReceipt(tx: Tx, runId: string, receipt: RunReceipt): Promise<void> {
  await tx`update runs set receipt = ${tx.json(receipt as never)} where run_id = ${runId}`;
  if (!receipt.skill) return;
  const { name } = receipt.skill;
  await tx`
    update runs set config_name = ${name}, agent_config = agent_config || ${tx.json({ name })}
    where run_id = ${runId} and named_by_skill and config_name is distinct from ${name}`;
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
