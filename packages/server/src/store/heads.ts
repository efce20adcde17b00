import type { EventData, EventType } from "@outrider/contract/event";
import type { RunPhase, RunState, RunStatusMessage } from "@outrider/contract/run";
import type { Sql, Tx } from "./db.ts";

export interface Head {
  run_id: string;
  state: RunState;
  turn: number;
  attempt: number;
  last_seq: number;
}

/** Takes the run's lock. Whoever writes to a run holds it until the end of the transaction. */
export async function lockHead(tx: Tx, runId: string): Promise<Head | undefined> {
  const [row] = await tx<Head[]>`
    select run_id, state, turn, attempt, last_seq from run_heads where run_id = ${runId} for update`;
  return row;
}

export async function findHead(sql: Sql, runId: string): Promise<Head | undefined> {
  const [row] = await sql<Head[]>`
    select run_id, state, turn, attempt, last_seq from run_heads where run_id = ${runId}`;
  return row;
}

export async function findHeads(sql: Sql, runIds: string[]): Promise<Head[]> {
  return sql<Head[]>`
    select run_id, state, turn, attempt, last_seq from run_heads where run_id = any(${runIds}::uuid[])`;
}

export interface Change<T extends EventType> {
  run_id: string;
  from: RunState[];
  to: RunState;
  phase: RunPhase;
  newTurn?: boolean;
  status_message?: RunStatusMessage;
  event: { type: T; data: EventData<T> };
}

/**
 * One change of state: head, run and event together. The head's update names the states it may leave, so that under
 * READ COMMITTED a writer who comes late changes nothing; undefined says so.
 */
export async function changeState<T extends EventType>(tx: Tx, change: Change<T>): Promise<Head | undefined> {
  const [head] = await tx<Head[]>`
    update run_heads
    set state = ${change.to}, phase = ${change.phase}, last_seq = last_seq + 1,
      turn = turn + ${change.newTurn ? 1 : 0}, attempt = case when ${change.newTurn ?? false} then 0 else attempt end
    where run_id = ${change.run_id} and state = any(${change.from}::text[])
    returning run_id, state, turn, attempt, last_seq`;
  if (!head) return undefined;
  const final = change.phase === "done";
  await tx`
    with at as materialized (select outrider_now() as now),
    run as (
      update runs
      set state = ${change.to}, updated_at = now,
        finished_at = case when ${final} then now end,
        started_at = case when ${change.newTurn ?? false} then null else started_at end,
        status_message = ${change.status_message ? tx.json(change.status_message) : null}::jsonb
      from at where run_id = ${change.run_id}
    )
    insert into events (run_id, seq, type, created_at, turn, attempt, data)
    select ${head.run_id}, ${head.last_seq}, ${change.event.type}, now, ${head.turn}, ${head.attempt},
      ${tx.json(change.event.data as Parameters<typeof tx.json>[0])}
    from at`;
  return head;
}

/** Says in lists and streams of hints that something about the run has changed. */
export async function touchRun(tx: Tx, runId: string): Promise<void> {
  await tx`update runs set updated_at = outrider_now() where run_id = ${runId}`;
}
