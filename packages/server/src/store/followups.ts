import type { Followup, FollowupMode } from "@outrider/contract/followup";
import type { Sql, Tx } from "./db.ts";
import { present } from "./runs.ts";

export async function insertFollowup(
  tx: Tx,
  followup: { followup_id: string; run_id: string; message: string; mode: FollowupMode },
): Promise<void> {
  const { followup_id, run_id, message, mode } = followup;
  await tx`
    insert into followups (followup_id, run_id, message, mode, created_at)
    values (${followup_id}, ${run_id}, ${message}, ${mode}, outrider_now())`;
}

export async function listFollowups(sql: Sql, runId: string): Promise<Followup[]> {
  const rows = await sql<Followup[]>`
    select ${columns(sql)} from followups where run_id = ${runId} order by position`;
  return rows.map(present);
}

export async function findFollowup(
  sql: Sql,
  runId: string,
  followupId: string,
): Promise<Followup | undefined> {
  const [row] = await sql<Followup[]>`
    select ${columns(sql)} from followups where run_id = ${runId} and followup_id = ${followupId}`;
  return row && present(row);
}

/** Changes what is still queued; undefined when it is not. */
export async function updateFollowup(
  tx: Tx,
  followupId: string,
  { message, mode }: { message?: string | undefined; mode?: FollowupMode | undefined },
): Promise<Followup | undefined> {
  const [row] = await tx<Followup[]>`
    update followups set message = coalesce(${message ?? null}, message), mode = coalesce(${mode ?? null}, mode)
    where followup_id = ${followupId} and delivery = 'queued'
    returning ${columns(tx)}`;
  return row && present(row);
}

/** Withdraws what is still queued: one follow-up, or all of a run. Says how many. */
export async function withdrawFollowups(
  tx: Tx,
  which: { run_id: string; followup_id?: string },
): Promise<number> {
  const { count } = await tx`
    update followups set delivery = 'withdrawn'
    where run_id = ${which.run_id} and delivery = 'queued'
      ${which.followup_id ? tx`and followup_id = ${which.followup_id}` : tx``}`;
  return count;
}

export async function countQueuedFollowups(sql: Sql, runId: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from followups where run_id = ${runId} and delivery = 'queued'`;
  return row?.count ?? 0;
}

function columns(sql: Sql) {
  return sql`followup_id, message, mode, delivery, seq, created_at`;
}

export interface QueuedFollowup {
  followup_id: string;
  message: string;
  mode: FollowupMode;
}

export async function listQueuedFollowups(
  tx: Tx,
  runId: string,
  { steering }: { steering: boolean },
): Promise<QueuedFollowup[]> {
  return tx<QueuedFollowup[]>`
    select followup_id, message, mode from followups
    where run_id = ${runId} and delivery = 'queued' ${steering ? tx`and mode <> 'queue'` : tx``}
    order by position`;
}

export async function markDelivered(
  tx: Tx,
  followups: { followup_id: string; seq: number }[],
  { executionId, batch }: { executionId: string; batch: number },
): Promise<void> {
  for (const { followup_id, seq } of followups) {
    await tx`
      update followups
      set delivery = 'delivered', seq = ${seq}, execution_id = ${executionId}, batch = ${batch}
      where followup_id = ${followup_id}`;
  }
}

/** What one report of an execution was given. */
export async function listDelivered(
  sql: Sql,
  { executionId, batch }: { executionId: string; batch: number },
): Promise<(QueuedFollowup & { seq: number })[]> {
  return sql<(QueuedFollowup & { seq: number })[]>`
    select followup_id, message, mode, seq from followups
    where execution_id = ${executionId} and batch = ${batch} order by position`;
}
