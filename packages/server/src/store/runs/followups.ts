import type { Followup, FollowupMode } from "@outrider/contract/followup";
import type { DeliveredFollowup } from "@outrider/contract/worker";
import type { Sql, Tx } from "../connection/db.ts";
import { omitNulls } from "./runs.ts";

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
  return rows.map(omitNulls);
}

export async function findFollowup(
  sql: Sql,
  runId: string,
  followupId: string,
): Promise<Followup | undefined> {
  const [row] = await sql<Followup[]>`
    select ${columns(sql)} from followups where run_id = ${runId} and followup_id = ${followupId}`;
  return row && omitNulls(row);
}

/** Changes a queued follow-up. Returns undefined if it is no longer queued. */
export async function updateFollowup(
  tx: Tx,
  followupId: string,
  { message, mode }: { message?: string | undefined; mode?: FollowupMode | undefined },
): Promise<Followup | undefined> {
  const [row] = await tx<Followup[]>`
    update followups set message = coalesce(${message ?? null}, message), mode = coalesce(${mode ?? null}, mode)
    where followup_id = ${followupId} and delivery = 'queued'
    returning ${columns(tx)}`;
  return row && omitNulls(row);
}

/** Withdraws one queued follow-up, or all of the run's queued follow-ups. Returns how many were withdrawn. */
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

/** Returns the oldest queued follow-up, if any. */
export async function findQueuedFollowup(
  tx: Tx,
  runId: string,
): Promise<{ followup_id: string; mode: FollowupMode } | undefined> {
  const [row] = await tx<{ followup_id: string; mode: FollowupMode }[]>`
    select followup_id, mode from followups where run_id = ${runId} and delivery = 'queued' order by position limit 1`;
  return row;
}

/** Identifies the report that receives the follow-ups, so that a repeated report receives the same response. */
export interface Delivery {
  runId: string;
  executionId: string;
  batch: number;
  /** Delivers only follow-ups that steer the current turn, not those queued for its end. */
  steering: boolean;
}

/** Delivers queued follow-ups and appends their events in one statement. The caller must hold the run's lock. */
export async function deliverFollowups(
  tx: Tx,
  { runId, executionId, batch, steering }: Delivery,
): Promise<DeliveredFollowup[]> {
  const rows = await tx<DeliveredFollowup[]>`
    select * from outrider_deliver_followups(${runId}, ${executionId}, ${batch}, ${steering}) order by seq`;
  return rows.map(omitNulls);
}

/** Returns the follow-ups that were delivered in response to one of an execution's reports. */
export async function listDelivered(
  sql: Sql,
  { executionId, batch }: { executionId: string; batch: number },
): Promise<DeliveredFollowup[]> {
  const rows = await sql<DeliveredFollowup[]>`
    select followup_id, message, mode, seq, outrider_followup_attachments(run_id, followup_id) as attachments from followups
    where execution_id = ${executionId} and batch = ${batch} order by position`;
  return rows.map(omitNulls);
}
