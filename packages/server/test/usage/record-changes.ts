import type { Db } from "../../src/store/connection/db.ts";
import { foldChanges, vacuumChanges } from "../../src/store/usage/tasks.ts";

/** Batches of this size fit in the memory of the fold. Larger ones take several times longer for each change. */
const FOLD_BATCH = 20_000;

/**
 * Counts runs that were written with `counted_state`, which skips the trigger: one statement records them as the trigger
 * would, and the fold of the service counts them. This is much faster than the trigger for hundreds of thousands of runs.
 */
export async function recordChanges(db: Db, traceId: string): Promise<void> {
  await db`
    insert into usage_changes (created_at, changed_at, environment_id, model_id, creator_type, creator_uid, source, to_state,
      to_error, to_seconds, wait_seconds, cost_usd, input_tokens, cached_input_tokens, output_tokens, run_seconds)
    select created_at, coalesce(finished_at, updated_at), environment_id, model_id, creator_type, creator_uid, source, state,
      case when state = 'FAILED' then coalesce(status_message ->> 'error_code', '') end,
      case when finished_at is not null and run_seconds > 0 then run_seconds end,
      extract(epoch from started_at - created_at), cost_usd, input_tokens, cached_input_tokens, output_tokens, run_seconds
    from runs where trace_id = ${traceId} order by created_at`;
  // The changes are in the order of time, so that few rollups belong to more than one batch.
  while ((await foldChanges(db, FOLD_BATCH)) > 0 || (await isFolding(db)));
  await vacuumChanges(db);
  await db`analyze usage_rollups`;
}

/** Returns whether the service is folding changes, in which case the fold of the caller does nothing. */
async function isFolding(db: Db): Promise<boolean> {
  const [row] = await db<
    { remain: boolean }[]
  >`select exists (select 1 from usage_changes) as remain, pg_sleep(0.05)`;
  return row?.remain ?? false;
}
