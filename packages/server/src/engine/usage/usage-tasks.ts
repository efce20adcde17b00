import type { Logger } from "pino";
import type { Db } from "../../store/connection/db.ts";
import {
  countUncountedRuns,
  deleteOldUsage,
  findDueTasks,
  foldChanges,
  sampleLoad,
  vacuumChanges,
} from "../../store/usage/tasks.ts";
import { startTicker, type Ticker } from "../../ticker.ts";
import type { Counters } from "../operations/counters.ts";
import { ALIVE_MS } from "../runs/run-policy.ts";

/*
 * The background task of usage. Each server looks every ten seconds whether there is anything to do, with one cheap
 * statement. Several servers can do this at the same time: a lock lets one of them fold, and each other task is claimed by
 * updating its row in usage_tasks.
 */

const EVERY_MS = 10_000;
/** One transaction folds this many changes, which takes about a second. */
const FOLD_BATCH = 10_000;
/** Old runs are counted in short transactions, and for a part of the time only, so that runs are not delayed. */
const COUNT_BATCH = 500;
const COUNT_MS = 2_000;

/** Folds all changes into rollups. */
export async function foldUsage(db: Db): Promise<void> {
  let batches = 1;
  while ((await foldChanges(db, FOLD_BATCH)) === FOLD_BATCH) batches++;
  if (batches > 1) await vacuumChanges(db);
}

const FIRST_ID = "00000000-0000-0000-0000-000000000000";

/**
 * Counts runs after `after` that are from before an upgrade, until `maxMs` have passed. Returns where to continue, which is
 * the beginning if there were no more: runs that were locked are still to be counted.
 */
export async function countOldRuns(
  db: Db,
  { after = FIRST_ID, maxMs = Number.POSITIVE_INFINITY }: { after?: string; maxMs?: number } = {},
): Promise<string> {
  const end = performance.now() + maxMs;
  let last = after;
  while (performance.now() < end) {
    const next = await countUncountedRuns(db, { after: last, limit: COUNT_BATCH });
    if (next === undefined) return FIRST_ID;
    last = next;
  }
  return last;
}

/** Does what is due. Returns where to continue counting old runs. */
export async function runUsageTasks(db: Db, after = FIRST_ID): Promise<string> {
  let next = after;
  const due = await findDueTasks(db);
  if (due.is_sample_due) await sampleLoad(db, ALIVE_MS);
  if (due.has_uncounted) next = await countOldRuns(db, { after, maxMs: COUNT_MS });
  if (due.has_changes || due.has_uncounted) await foldUsage(db);
  if (due.is_cleanup_due) await deleteOldUsage(db);
  return next;
}

interface UsageTaskOptions {
  db: Db;
  /** Called before each round. If it returns false, the round is skipped. */
  isEnabled(): boolean;
  counters: Counters;
  log: Logger;
}

export function startUsageTasks({ db, isEnabled, counters, log }: UsageTaskOptions): Ticker {
  let after = FIRST_ID;
  return startTicker({
    everyMs: EVERY_MS,
    async task() {
      if (isEnabled()) after = await runUsageTasks(db, after);
    },
    onError(error) {
      counters.failed("usage");
      log.warn({ error }, "failed to update usage");
    },
  });
}
