import type { RunEvent } from "@outrider/contract/event";
import type { Sql } from "./db.ts";

export async function listEvents(
  sql: Sql,
  { runId, after, limit }: { runId: string; after: number; limit: number },
): Promise<RunEvent[]> {
  return sql<RunEvent[]>`
    select run_id, seq, type, created_at, turn, attempt, data from events
    where run_id = ${runId} and seq > ${after}
    order by seq limit ${limit}`;
}
