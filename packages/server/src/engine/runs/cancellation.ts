import { limits } from "@outrider/contract/limits";
import { isFinal } from "@outrider/contract/run-state";
import type { Sql, Tx } from "../../store/connection/db.ts";
import { countRuns, listRuns, type RunFilter } from "../../store/runs/run-list.ts";
import { lockRunState, type RunStateRow } from "../../store/runs/run-state.ts";
import type { Principal } from "../auth/principal.ts";
import { cancelLocked } from "./runs.ts";

const openStates = ["QUEUED", "INPROGRESS", "BLOCKED"] as const;

const unfinished = (filter: RunFilter): RunFilter => ({ ...filter, state: filter.state ?? [...openStates] });

export async function countCancellable(sql: Sql, filter: RunFilter): Promise<number> {
  return countRuns(sql, unfinished(filter));
}

/** Cancels the oldest runs that match a filter, up to one batch, and returns them. */
export async function cancelMatching(
  tx: Tx,
  principal: Principal,
  filter: RunFilter,
): Promise<RunStateRow[]> {
  const { runs } = await listRuns(tx, {
    filter: unfinished(filter),
    sort: { by: "created_at", order: "asc" },
    limit: limits.cancelBatch,
  });
  const cancelled: RunStateRow[] = [];
  // Locks are acquired in order of run ID, so that two concurrent batches cannot deadlock.
  for (const { run_id } of runs.sort((a, b) => (a.run_id < b.run_id ? -1 : 1))) {
    const runState = await lockRunState(tx, run_id);
    // The run may have ended after it was listed.
    if (!runState || isFinal(runState.state)) continue;
    await cancelLocked(tx, principal, runState);
    cancelled.push(runState);
  }
  return cancelled;
}
