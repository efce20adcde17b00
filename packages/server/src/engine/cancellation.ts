import { limits } from "@outrider/contract/limits";
import { isFinal } from "@outrider/contract/run";
import type { Sql, Tx } from "../store/db.ts";
import { type Head, lockHead } from "../store/heads.ts";
import { countRuns, listRuns, type RunFilter } from "../store/run-list.ts";
import type { Principal } from "./principal.ts";
import { cancelLocked } from "./runs.ts";

const open = ["QUEUED", "INPROGRESS", "BLOCKED"] as const;

const unfinished = (filter: RunFilter): RunFilter => ({ ...filter, state: filter.state ?? [...open] });

export async function countCancellable(sql: Sql, filter: RunFilter): Promise<number> {
  return countRuns(sql, unfinished(filter));
}

/** Ends the oldest of those that a filter finds, as many as one transaction should hold, and answers which. */
export async function cancelMatching(tx: Tx, principal: Principal, filter: RunFilter): Promise<Head[]> {
  const { runs } = await listRuns(tx, {
    filter: unfinished(filter),
    sort: { by: "created_at", order: "asc" },
    limit: limits.cancelBatch,
  });
  const cancelled: Head[] = [];
  // Two of these at once take their locks in the same order.
  for (const { run_id } of runs.sort((a, b) => (a.run_id < b.run_id ? -1 : 1))) {
    const head = await lockHead(tx, run_id);
    // It may have ended while we came to it.
    if (!head || isFinal(head.state)) continue;
    await cancelLocked(tx, principal, head);
    cancelled.push(head);
  }
  return cancelled;
}
