import type { TraceContext } from "@outrider/telemetry/trace-context";
import type { Sql } from "../connection/db.ts";
import { json } from "../connection/json.ts";

/** The context that the spans of a turn continue. */
export interface TurnTrace extends TraceContext {
  turn: number;
  /** The `traceparent` of the previous turn. */
  previous?: string;
}

export interface ClaimTrace {
  run_id: string;
  execution_id: string;
  turn: number;
  attempt: number;
  trace: TurnTrace | null;
  /** When the run was queued, or when the previous attempt ended. */
  waiting_since: Date;
  claimed_at: Date;
}

/** Stores the context of a new turn. The one of the previous turn is kept for a link. */
export async function storeTurnTrace(
  sql: Sql,
  { run_id, turn, trace }: { run_id: string; turn: number; trace: TraceContext },
): Promise<void> {
  await sql`
    update runs set trace_context = ${json(sql, { ...trace, turn })}::jsonb || jsonb_strip_nulls(
      jsonb_build_object('previous', trace_context -> 'traceparent'))
    where run_id = ${run_id}`;
}

export function listClaimTraces(sql: Sql, executionIds: string[]): Promise<ClaimTrace[]> {
  return sql<ClaimTrace[]>`
    select e.run_id, e.execution_id, e.turn, e.attempt, r.trace_context as trace, e.claimed_at, coalesce((
        select max(earlier.ended_at) from executions earlier
        where earlier.run_id = e.run_id and earlier.turn = e.turn and earlier.execution_id <> e.execution_id),
      h.queued_at) as waiting_since
    from executions e join runs r on r.run_id = e.run_id join run_state h on h.run_id = e.run_id
    where e.execution_id = any(${executionIds})`;
}
