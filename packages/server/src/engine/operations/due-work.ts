import type { Logger } from "pino";
import type { Db } from "../../store/connection/db.ts";
import { type DueWork, findDueWork } from "../../store/due-work.ts";
import { startTicker, type Ticker } from "../../ticker.ts";
import { MAX_RETRY_MS } from "../publishing/publications.ts";
import type { Counters } from "./counters.ts";

/*
 * Starts background tasks when they have something to do. They usually have nothing to do, so one statement asks for all of
 * them.
 */

const EVERY_MS = 1_000;

interface DueWorkOptions {
  db: Db;
  tasks: Record<keyof DueWork, Pick<Ticker, "trigger">>;
  counters: Counters;
  log: Logger;
}

export function startDueWork({ db, tasks, counters, log }: DueWorkOptions): Ticker {
  return startTicker({
    everyMs: EVERY_MS,
    async task() {
      const due = await findDueWork(db, { maxQueuedMs: MAX_RETRY_MS });
      for (const name of Object.keys(tasks) as (keyof DueWork)[]) if (due[name]) tasks[name].trigger();
    },
    onError(error) {
      for (const task of ["shells", "publications", "pull_requests"] as const) counters.failed(task);
      log.warn({ error }, "failed to find due work");
    },
  });
}
