import type { Tx } from "../db.ts";
import { endExecution } from "../executions.ts";
import { abandonLease } from "../leases.ts";

const REASON = "The service was restored from a backup.";

/** Nobody holds anything any more: what was at work waits for another worker, and it costs no attempt. */
export async function revokeLeases(tx: Tx): Promise<number> {
  const held = await tx<{ run_id: string; execution_id: string }[]>`
    select run_id, execution_id from run_heads where state = 'INPROGRESS' and execution_id is not null`;
  for (const { run_id: runId, execution_id: executionId } of held) {
    await abandonLease(tx, { runId, executionId, reason: REASON, refund: true });
    await endExecution(tx, { executionId, outcome: "LOST" });
  }
  await tx`update executions set ended_at = outrider_now(), outcome = 'LOST' where ended_at is null`;
  await tx`
    update builds set state = 'QUEUED', attempt = greatest(attempt - 1, 0), token = null, lease_expires_at = null
    where state = 'BUILDING'`;
  // Sandboxes that stood at the time, to go on from or to store something of, are elsewhere.
  await tx`
    update run_heads set kept_worker_id = null, kept_until = null, closing_execution_id = null, closing_until = null
    where kept_worker_id is not null or closing_execution_id is not null`;
  return held.length;
}

/** The time between backup and restore counts for nobody: not as a wait, and not as work. */
export async function shiftBounds(tx: Tx, since: string): Promise<void> {
  await tx`
    update run_heads set
      queued_at = case when state = 'QUEUED' then queued_at + (outrider_now() - ${since}::timestamptz) else queued_at end,
      blocked_at = blocked_at + (outrider_now() - ${since}::timestamptz),
      turn_deadline_at = turn_deadline_at + (outrider_now() - ${since}::timestamptz)
    where state in ('QUEUED', 'INPROGRESS', 'BLOCKED')`;
}

/**
 * What opens the service and may have been used up or ended since: links that open once, browsers that are signed in, keys
 * of workers that a server started itself. Keys that somebody holds stay.
 */
export async function revokeEntrances(tx: Tx): Promise<void> {
  await tx`update keys set revoked_at = outrider_now() where is_local and revoked_at is null`;
  await tx`update sessions set ended_at = outrider_now() where ended_at is null`;
  await tx`delete from sign_in_links`;
}

/** Builds whose files are not in the backup: who needs one makes it again. */
export async function forgetBuilds(tx: Tx): Promise<void> {
  await tx`
    delete from builds b where state = 'READY' and not exists (select 1 from runs r where r.build_id = b.build_id)`;
}
