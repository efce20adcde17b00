import type { EventData, EventType } from "@outrider/contract/event";
import type { RunPhase, RunState, RunStatusMessage } from "@outrider/contract/run";
import type { Sql, Tx } from "./db.ts";
import { type Report, showsWork } from "./events.ts";

export interface Head {
  run_id: string;
  state: RunState;
  turn: number;
  attempt: number;
  last_seq: number;
  /** The lease: who holds it may write. */
  execution_id: string | null;
  worker_id: string | null;
  report_batch: number;
}

function columns(sql: Sql) {
  return sql`run_id, state, turn, attempt, last_seq, execution_id, worker_id, report_batch`;
}

/** Takes the run's lock. Whoever writes to a run holds it until the end of the transaction. */
export async function lockHead(tx: Tx, runId: string): Promise<Head | undefined> {
  const [row] = await tx<Head[]>`select ${columns(tx)} from run_heads where run_id = ${runId} for update`;
  return row;
}

export async function findHead(sql: Sql, runId: string): Promise<Head | undefined> {
  const [row] = await sql<Head[]>`select ${columns(sql)} from run_heads where run_id = ${runId}`;
  return row;
}

export async function findHeads(sql: Sql, runIds: string[]): Promise<Head[]> {
  return sql<Head[]>`select ${columns(sql)} from run_heads where run_id = any(${runIds}::uuid[])`;
}

export interface Change<T extends EventType> {
  to: Exclude<RunState, "INPROGRESS">;
  phase: RunPhase;
  newTurn?: boolean;
  /** For so long the holder of the lease, which this ends, may store what its sandbox left. */
  closingMs?: number;
  status_message?: RunStatusMessage;
  event: { type: T; data: EventData<T> };
}

/**
 * One change of state: head, run, execution and event together. The caller holds the run's lock. Every change but a
 * claim ends the lease.
 */
export async function changeState<T extends EventType>(
  tx: Tx,
  runId: string,
  change: Change<T>,
): Promise<void> {
  const { to, phase, newTurn = false, closingMs = null, status_message, event } = change;
  const { output } = event.data as { output?: Parameters<typeof tx.json>[0] };
  await tx`
    with at as materialized (select outrider_now() as now),
    head as (
      update run_heads
      set state = ${to}, phase = ${phase}, last_seq = last_seq + 1,
        turn = turn + ${newTurn ? 1 : 0}, attempt = case when ${newTurn} then 0 else attempt end,
        closing_execution_id = case when ${closingMs}::int is null then closing_execution_id else execution_id end,
        closing_until = case when ${closingMs}::int is null then closing_until else now + ${closingMs}::int * interval '1 ms' end,
        execution_id = null, worker_id = null, lease_expires_at = null,
        turn_deadline_at = case when ${newTurn} then null else turn_deadline_at end,
        working_at = case when ${newTurn} then null else working_at end,
        first_output_at = case when ${newTurn} then null else first_output_at end,
        queued_at = case when ${to === "QUEUED"} then now else queued_at end,
        blocked_at = case when ${to === "BLOCKED"} then now end
      from at where run_id = ${runId}
      returning run_id, turn, attempt, last_seq
    ),
    run as (
      update runs
      set state = ${to}, updated_at = now,
        finished_at = case when ${phase === "done"} then now end,
        started_at = case when ${newTurn} then null else started_at end,
        status_message = ${status_message ? tx.json(status_message) : null}::jsonb,
        output = case when ${newTurn} then null when ${to === "SUCCEEDED"} then ${output === undefined ? null : tx.json(output)}::jsonb else output end
      from at where run_id = ${runId}
    )
    insert into events (run_id, seq, type, created_at, turn, attempt, data)
    select run_id, last_seq, ${event.type}, now, turn, attempt,
      ${tx.json(event.data as Parameters<typeof tx.json>[0])}::jsonb
    from head, at`;
}

/**
 * The end of a turn in one statement, with the execution's last report; false where the lease is lost, the batch is not the
 * next or a message waits: then nothing is written.
 */
export async function endAtOnce<T extends EventType>(
  sql: Sql,
  { runId, executionId, batch, events, phase, usage, receipt }: Report,
  { to, phase: toPhase, status_message, event }: Change<T>,
  keptMinutes?: number,
): Promise<boolean> {
  const [row] = await sql<{ ended: boolean }[]>`
    select outrider_end(${runId}, ${executionId}, ${batch as number}, ${sql.json([...events, event] as never)},
      ${phase ?? null}, ${usage ? sql.json(usage) : null}, ${receipt ? sql.json(receipt as never) : null},
      ${showsWork(events)}, ${to}, ${toPhase}, ${status_message ? sql.json(status_message) : null},
      ${keptMinutes ?? null}) as ended`;
  return row?.ended ?? false;
}

/** Says in lists and streams of hints that something about the run has changed. */
export async function touchRun(tx: Tx, runId: string): Promise<void> {
  await tx`update runs set updated_at = outrider_now() where run_id = ${runId}`;
}

/** True for the one who may; the right is used up by it. */
export async function endClosing(tx: Tx, runId: string, executionId: string): Promise<boolean> {
  const { count } = await tx`
    update run_heads set closing_execution_id = null, closing_until = null
    where run_id = ${runId} and closing_execution_id = ${executionId} and closing_until > outrider_now()`;
  return count > 0;
}
