import type { NewEvent, RunEvent } from "@outrider/contract/event";
import type { RunPhase, RunUsage } from "@outrider/contract/run";
import type { Sql, Tx } from "./db.ts";

export async function listEvents(
  sql: Sql,
  { runId, after, limit }: { runId: string; after: number; limit: number },
): Promise<RunEvent[]> {
  return sql<RunEvent[]>`
    select run_id, seq, type, created_at, turn, attempt, data from events
    where run_id = ${runId} and seq > ${after}
    order by seq limit ${limit}`;
}

/** What a worker's report says of the run besides its events. */
export interface Progress {
  batch?: number | undefined;
  phase?: RunPhase | undefined;
  usage?: RunUsage | undefined;
}

/** The first of these is the first sign of a turn's work. */
const output = new Set<NewEvent["type"]>(["message.agent", "reasoning", "command.started", "tool.called"]);

/** Numbers events and writes them, in one statement, under the run's lock, which the caller holds. Answers the last number. */
export async function appendEvents(
  tx: Tx,
  runId: string,
  events: NewEvent[],
  { batch, phase, usage }: Progress = {},
): Promise<number> {
  const rows = events.map(({ type, data }, index) => ({ type, data, place: index + 1 }));
  const shows = events.some(({ type }) => output.has(type));
  const [head] = await tx<{ last_seq: number }[]>`
    with head as (
      update run_heads
      set last_seq = last_seq + ${events.length}, report_batch = coalesce(${batch ?? null}, report_batch),
        working_at = case when ${phase === "working"} then coalesce(working_at, outrider_now()) else working_at end,
        first_output_at = case when ${shows} then coalesce(first_output_at, outrider_now()) else first_output_at end,
        phase = coalesce(${phase ?? null}, phase), usage = coalesce(${usage ? tx.json(usage) : null}::jsonb, usage)
      where run_id = ${runId}
      returning last_seq, turn, attempt
    ),
    event as (
      insert into events (run_id, seq, type, created_at, turn, attempt, data)
      select ${runId}, head.last_seq - ${events.length} + e.place, e.type, outrider_now(), head.turn, head.attempt, e.data
      from head, jsonb_to_recordset(${tx.json(rows as Parameters<typeof tx.json>[0])}) as e(type text, data jsonb, place int)
    )
    select last_seq from head`;
  return head?.last_seq as number;
}
