import type { LoggedEvent, NewEvent, RunEvent } from "@outrider/contract/event";
import type { RunPhase, RunReceipt, RunUsage } from "@outrider/contract/run";
import type { DeliveredFollowup } from "@outrider/contract/worker";
import type { Sql, Tx } from "../connection/db.ts";
import { json } from "../connection/json.ts";
import { type LogPage, type LogRange, readLogPage } from "../log-page.ts";
import { omitNulls } from "./runs.ts";

/** Returns one page of the run's events. If retention has removed them, returns a notice instead. */
export async function listEvents(
  sql: Sql,
  { runId, ...range }: { runId: string } & LogRange,
): Promise<LogPage<RunEvent>> {
  const page = await readLogPage<RunEvent>(
    sql,
    range,
    ({ after, limit }) => sql`
      select run_id, seq, type, created_at, turn, attempt, outrider_event_data(type, data) as data from events
      where run_id = ${runId} and seq > ${after} order by seq limit ${limit}`,
  );
  if (page.events.length > 0) return page;
  return { events: await findRemovalNotice(sql, runId, range.after), isTruncated: false };
}

/** Returns one page of the run's events for the worker that executes it, including their private data. */
export async function listEventsForWorker(
  sql: Sql,
  { runId, ...range }: { runId: string } & LogRange,
): Promise<LogPage<LoggedEvent>> {
  return readLogPage<LoggedEvent>(
    sql,
    range,
    ({ after, limit }) => sql`
      select run_id, seq, type, created_at, turn, attempt, outrider_event_data(type, data) as data, private from events
      where run_id = ${runId} and seq > ${after} order by seq limit ${limit}`,
    { withPrivate: true },
  );
}

export function omitNullPrivate({ private: hidden, ...event }: LoggedEvent): LoggedEvent {
  return hidden ? { ...event, private: hidden } : event;
}

/** Returns the notice that replaces a log removed by retention. The notice has the last event's number. */
async function findRemovalNotice(sql: Sql, runId: string, after: number): Promise<RunEvent[]> {
  const [row] = await sql<Omit<RunEvent, "type" | "data">[]>`
    select run_id, last_seq as seq, r.events_removed_at as created_at, turn, attempt from runs r join run_state h using (run_id)
    where run_id = ${runId} and r.events_removed_at is not null and last_seq > ${after}`;
  if (!row) return [];
  const message = `The ${row.seq} events of this run were removed by this installation's retention.`;
  return [{ ...row, type: "notice", data: { message, code: "events_removed" } } as RunEvent];
}

/**
 * Appends events of the engine that do not change the run's state. The caller must hold the run's lock. If retention has
 * removed the log, nothing is appended.
 */
export async function appendEngineEvents(tx: Tx, runId: string, events: NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  await tx`
    with touched as (
      update runs set updated_at = outrider_now() where run_id = ${runId} returning events_removed_at
    ),
    updated as (
      update run_state set last_seq = last_seq + ${events.length}
      where run_id = ${runId} and exists (select 1 from touched where events_removed_at is null)
      returning run_id, last_seq, turn, attempt
    )
    select outrider_insert_events(run_id, last_seq, turn, attempt, ${json(tx, events)}) from updated`;
}

/** Event types that count as a turn's output. */
const outputTypes = new Set<NewEvent["type"]>([
  "message.agent",
  "reasoning",
  "command.started",
  "tool.called",
]);

/** One of an execution's reports. An absent field leaves the stored value unchanged. */
export interface Report {
  runId: string;
  executionId: string;
  batch: number;
  events: NewEvent[];
  phase?: RunPhase | undefined;
  usage?: RunUsage | undefined;
  receipt?: RunReceipt | undefined;
}

/**
 * Writes a report in one statement. Returns undefined and writes nothing if the lease is lost or the batch is not the
 * next one.
 */
export async function appendReport(
  sql: Sql,
  report: Report,
  { deliver }: { deliver: boolean },
): Promise<{ last_seq: number; followups: DeliveredFollowup[] } | undefined> {
  const { runId, executionId, batch, events, phase = null, usage, receipt } = report;
  const [row] = await sql<{ last_seq: number; followups: DeliveredFollowup[] | null }[]>`
    select * from outrider_append_events(${runId}, ${executionId}, ${batch}, ${json(sql, events)}, ${phase}, ${json(sql, usage)},
      ${json(sql, receipt)}, ${hasOutput(report)}, ${deliver})`;
  return row && { last_seq: row.last_seq, followups: (row.followups ?? []).map(omitNulls) };
}

/** Returns whether the report has the agent's first output, or a later one. */
export function hasOutput({ events }: Pick<Report, "events">): boolean {
  return events.some(({ type }) => outputTypes.has(type));
}
