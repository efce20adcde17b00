import type { NewEvent, RunEvent } from "@outrider/contract/event";
import type { RunPhase, RunReceipt, RunUsage } from "@outrider/contract/run";
import type { DeliveredFollowup } from "@outrider/contract/worker";
import type { Sql, Tx } from "./db.ts";
import { present } from "./runs.ts";

/** Of one read. */
const MOST_CHARACTERS = 1024 * 1024;
/** Of one statement, by what its rows may become at most. */
const MOST_BYTES = 2 * 1024 * 1024;
/** What is compressed is seldom more than so many times larger, and never many times more than that. */
const COMPRESSED = 64;

/**
 * Events behind `after`, in order: `limit` of them, or fewer where they are large. What is read is parsed while everybody
 * waits, and stays in memory until its reader has taken it, who may be slow and one of many; an event can be as long as a
 * prompt, or as a thousand of the usual ones.
 */
export async function listEvents(
  sql: Sql,
  { runId, after, limit }: { runId: string; after: number; limit: number },
): Promise<{ events: RunEvent[]; isCut: boolean }> {
  const events: RunEvent[] = [];
  for (let characters = 0; ; ) {
    const place = { runId, after: events.at(-1)?.seq ?? after, limit: limit - events.length };
    const { rows, isCut } = await readSome(sql, place);
    if (events.length + rows.length === 0)
      return { events: await removalOf(sql, runId, after), isCut: false };
    for (const row of rows) characters += lengthOf(row.data);
    events.push(...rows);
    if (!isCut || characters >= MOST_CHARACTERS) return { events, isCut };
  }
}

/** As many as are sure not to be too much; at least one. */
async function readSome(
  sql: Sql,
  { runId, after, limit }: { runId: string; after: number; limit: number },
): Promise<{ rows: RunEvent[]; isCut: boolean }> {
  const found = await sql<(RunEvent & { behind: string })[]>`
    select run_id, seq, type, created_at, turn, attempt, data, behind from (
      select e.*, count(*) over () - row_number() over in_order as behind, sum(bytes) over in_order - bytes as before
      from (
        select run_id, seq, type, created_at, turn, attempt, data,
          pg_column_size(data) * case when pg_column_compression(data) is null then 1 else ${COMPRESSED} end as bytes
        from events where run_id = ${runId} and seq > ${after} order by seq limit ${limit}
      ) e window in_order as (order by seq)
    ) e where before < ${MOST_BYTES} order by seq`;
  const isCut = Number(found.at(-1)?.behind ?? 0) > 0;
  return { rows: found.map(({ behind: _, ...event }) => event as RunEvent), isCut };
}

/** About what it takes: most of what can be long is text that stands at the top. */
function lengthOf(data: object): number {
  let sum = 0;
  for (const value of Object.values(data)) {
    if (typeof value === "string") sum += value.length;
    else if (typeof value === "object") sum += JSON.stringify(value).length;
  }
  return sum;
}

/** In the place of a log that retention has taken stands one event, with the last number, that says so. */
async function removalOf(sql: Sql, runId: string, after: number): Promise<RunEvent[]> {
  const [row] = await sql<Omit<RunEvent, "type" | "data">[]>`
    select run_id, last_seq as seq, r.events_removed_at as created_at, turn, attempt from runs r join run_heads h using (run_id)
    where run_id = ${runId} and r.events_removed_at is not null and last_seq > ${after}`;
  if (!row) return [];
  const message = `The ${row.seq} events of this run were removed by this installation's retention.`;
  return [{ ...row, type: "notice", data: { message, code: "events_removed" } } as RunEvent];
}

/** What a worker's report says of the run besides its events. */
export interface Progress {
  batch?: number | undefined;
  phase?: RunPhase | undefined;
  usage?: RunUsage | undefined;
}

/** The first of these is the first sign of a turn's work. */
const output = new Set<NewEvent["type"]>(["message.agent", "reasoning", "command.started", "tool.called"]);

export function showsWork(events: NewEvent[]): boolean {
  return events.some(({ type }) => output.has(type));
}

/** One batch of an execution. */
export interface Report extends Required<Pick<Progress, "batch">> {
  runId: string;
  executionId: string;
  events: NewEvent[];
  phase?: RunPhase | undefined;
  usage?: RunUsage | undefined;
  receipt?: RunReceipt | undefined;
}

/** A report in one statement; undefined where the batch is not the next of who holds the lease: then nothing is written. */
export async function appendReport(
  sql: Sql,
  { runId, executionId, batch, events, phase, usage, receipt }: Report,
  { deliver }: { deliver: boolean },
): Promise<{ last_seq: number; followups: DeliveredFollowup[] } | undefined> {
  const [row] = await sql<{ last_seq: number; followups: DeliveredFollowup[] | null }[]>`
    select * from outrider_report(${runId}, ${executionId}, ${batch as number}, ${sql.json(events as never)},
      ${phase ?? null}, ${usage ? sql.json(usage) : null}, ${receipt ? sql.json(receipt as never) : null},
      ${showsWork(events)}, ${deliver})`;
  return row && { last_seq: row.last_seq, followups: (row.followups ?? []).map(present) };
}

/** Numbers events and writes them, in one statement, under the run's lock, which the caller holds. Answers the last number. */
export async function appendEvents(
  tx: Tx,
  runId: string,
  events: NewEvent[],
  { batch, phase, usage }: Progress = {},
): Promise<number> {
  const rows = events.map(({ type, data }, index) => ({ type, data, place: index + 1 }));
  const shows = showsWork(events);
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
