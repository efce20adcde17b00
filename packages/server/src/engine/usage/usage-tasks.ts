import type { Logger } from "pino";
import type { Db } from "../../store/connection/db.ts";
import {
  countUncountedRuns,
  deleteOldUsage,
  findDueTasks,
  foldChanges,
  sampleLoad,
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
  while ((await foldChanges(db, FOLD_BATCH)) === FOLD_BATCH);
}

/** Counts runs from before an upgrade until `maxMs` have passed. */
export async function countOldRuns(db: Db, maxMs = Number.POSITIVE_INFINITY): Promise<void> {
  const end = performance.now() + maxMs;
  while ((await countUncountedRuns(db, COUNT_BATCH)) > 0 && performance.now() < end);
}

export async function runUsageTasks(db: Db): Promise<void> {
  const due = await findDueTasks(db);
  if (due.is_sample_due) await sampleLoad(db, ALIVE_MS);
  if (due.has_uncounted) await countOldRuns(db, COUNT_MS);
  if (due.has_changes || due.has_uncounted) await foldUsage(db);
  if (due.is_cleanup_due) await deleteOldUsage(db);
}

interface UsageTaskOptions {
  db: Db;
  /** Called before each round. If it returns false, the round is skipped. */
  isEnabled(): boolean;
  counters: Counters;
  log: Logger;
}

export function startUsageTasks({ db, isEnabled, counters, log }: UsageTaskOptions): Ticker {
  return startTicker({
    everyMs: EVERY_MS,
    async task() {
      if (isEnabled()) await runUsageTasks(db);
    },
    onError(error) {
      counters.failed("usage");
      log.warn({ error }, "failed to update usage");
    },
  });
}
