import type { Tx } from "../connection/db.ts";
import { abandonLease } from "../dispatch/leases.ts";
import { requeuePublications } from "../publications.ts";

const REASON = "The service was restored from a backup.";

/** Revokes all leases, so that active runs and builds wait for another worker. This does not count as an attempt. */
export async function revokeLeases(tx: Tx): Promise<number> {
  const held = await tx<{ run_id: string; execution_id: string }[]>`
    select run_id, execution_id from run_state where state = 'INPROGRESS' and execution_id is not null`;
  for (const { run_id: runId, execution_id: executionId } of held) {
    await abandonLease(tx, { runId, executionId, reason: REASON, outcome: "LOST", refund: true });
  }
  await tx`update executions set ended_at = outrider_now(), outcome = 'LOST' where ended_at is null`;
  await tx`
    update builds set state = 'QUEUED', attempt = greatest(attempt - 1, 0), token = null, lease_expires_at = null
    where state = 'BUILDING'`;
  await requeuePublications(tx);
  // Warm and closing sandboxes belong to the original installation's workers.
  await tx`
    update run_state set warm_worker_id = null, warm_until = null, closing_execution_id = null, closing_until = null
    where warm_worker_id is not null or closing_execution_id is not null`;
  return held.length;
}

/** Forgets up to where active runs were counted, because this PostgreSQL numbers its transactions differently. */
export async function forgetFold(tx: Tx): Promise<void> {
  await tx`update active_fold set folded_before = '0'`;
}

/**
 * Shifts deadlines by the time between backup and restore, because that time must not count as waiting or working time.
 */
export async function shiftDeadlines(tx: Tx, since: string): Promise<void> {
  await tx`
    update run_state set
      queued_at = case when state = 'QUEUED' then queued_at + (outrider_now() - ${since}::timestamptz) else queued_at end,
      blocked_at = blocked_at + (outrider_now() - ${since}::timestamptz),
      turn_deadline_at = turn_deadline_at + (outrider_now() - ${since}::timestamptz)
    where state in ('QUEUED', 'INPROGRESS', 'BLOCKED')`;
}

/**
 * Revokes credentials that may have been used or revoked since the backup: sign-in links, sessions and local worker
 * keys.
 */
export async function revokeTemporaryCredentials(tx: Tx): Promise<void> {
  await tx`update keys set revoked_at = outrider_now() where is_local and revoked_at is null`;
  await tx`update sessions set ended_at = outrider_now() where ended_at is null`;
  await tx`delete from sign_in_links`;
}

/** Deletes builds whose files are not in the backup. They are rebuilt when needed. */
export async function deleteBuildsWithoutFiles(tx: Tx): Promise<void> {
  await tx`
    delete from builds b where state = 'READY' and not exists (select 1 from runs r where r.build_id = b.build_id)`;
}
