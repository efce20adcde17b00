import type { Logger } from "pino";
import type { Db } from "../../store/connection/db.ts";
import { abandonLease, listOverdue, type Overdue } from "../../store/dispatch/leases.ts";
import { findWaitingRun, type WaitingRun } from "../../store/dispatch/requirements.ts";
import { lockRunState } from "../../store/runs/run-state.ts";
import { startTicker, type Ticker } from "../../ticker.ts";
import { type PubSub, topics } from "../live/pubsub.ts";
import type { Counters } from "../operations/counters.ts";
import type { RunPolicy } from "../runs/run-policy.ts";
import { failRun } from "../runs/runs.ts";
import type { WakeUps } from "./wake-ups.ts";

/*
 * The reaper enforces all time limits in the run policy. Each server runs it about once a second.
 *
 * | Reason   | Condition                                        | Result                                              |
 * |----------|--------------------------------------------------|-----------------------------------------------------|
 * | `lease`  | The lease expired more than `graceMs` ago        | Recovered by another worker; FAILED (`worker_lost`) |
 * |          |                                                  | after `maxAttempts` attempts                        |
 * | `turn`   | The deadline passed more than `wrapUpMs` ago     | FAILED (`timeout`)                                  |
 * | `queue`  | The run has been queued longer than `queueMs`    | FAILED (`resource_unavailable`)                     |
 * | `answer` | The run has been BLOCKED longer than `blockedMs` | FAILED (`timeout`)                                  |
 *
 * A recovered run remains INPROGRESS in phase `recovering`, without a lease, until a worker claims it again. The grace
 * period is longer than a worker's own deadline for stopping its sandboxes. The lost worker's sandbox has therefore
 * stopped before another worker starts, and two workers never execute the same run at the same time.
 *
 * Any number of servers can run the reaper concurrently. They take turns in looking for candidates, because that reads all
 * active runs. With many active runs, lost leases and exceeded turns are looked for less often: with 160,000, every 10 s. The
 * reaper lists candidates without locks, then checks each one again while holding the run's lock and skips it if it is no longer
 * overdue.
 */

const EVERY_MS = 1_000;

interface ReapOptions {
  counters?: Counters;
  /** Does nothing if a server has looked for overdue runs within so many milliseconds. */
  turnMs?: number;
  /** Is called with runs that were recovered. */
  wake?: (run: WaitingRun) => void;
}

/** Fails or recovers all runs that exceed a time limit. */
export async function reap(
  db: Db,
  policy: RunPolicy,
  pubsub: PubSub,
  { counters, turnMs, wake }: ReapOptions = {},
): Promise<void> {
  for (const overdue of await listOverdue(db, policy, { turnMs })) {
    const reaped = await reapRun(db, policy, overdue);
    if (!reaped) continue;
    if (counters) counters.reaped[overdue.reason]++;
    pubsub.publish(topics.run(overdue.run_id));
    if (reaped.recovered) wake?.(reaped.recovered);
    // The end of an active run may make room for another one under a concurrency limit.
    else if (overdue.state === "INPROGRESS") pubsub.publish(topics.queue);
  }
  counters?.succeeded("reaper");
}

/** Returns undefined if the run is not overdue any longer. */
async function reapRun(
  db: Db,
  policy: RunPolicy,
  { run_id }: Overdue,
): Promise<{ recovered?: WaitingRun | undefined } | undefined> {
  return db.begin(async (tx) => {
    const runState = await lockRunState(tx, run_id);
    const [overdue] = await listOverdue(tx, policy, { runId: run_id });
    if (!runState || !overdue) return undefined;
    if (overdue.reason === "queue") {
      const message = `No worker claimed the run within ${formatDuration(policy.queueMs)}.`;
      await failRun(tx, runState, { error_code: "resource_unavailable", message });
    } else if (overdue.reason === "answer") {
      const message = `The question was not answered within ${formatDuration(policy.blockedMs)}.`;
      await failRun(tx, runState, { error_code: "timeout", message });
    } else if (overdue.reason === "turn") {
      await failRun(tx, runState, { error_code: "timeout", message: "The turn exceeded its timeout." });
    } else if (runState.attempt >= policy.maxAttempts) {
      const message = `The worker was lost in each of ${runState.attempt} attempts.`;
      await failRun(tx, runState, { error_code: "worker_lost", message });
    } else {
      const executionId = runState.execution_id as string;
      const reason = "The worker was lost.";
      await abandonLease(tx, { runId: run_id, executionId, reason, outcome: "LOST", refund: false });
      return { recovered: await findWaitingRun(tx, run_id) };
    }
    return {};
  });
}

function formatDuration(ms: number): string {
  return ms >= 3_600_000 ? `${Math.round(ms / 3_600_000)} hours` : `${Math.round(ms / 1_000)} seconds`;
}

interface ReaperOptions {
  log: Logger;
  pubsub: PubSub;
  wakeUps: WakeUps;
  counters: Counters;
}

export function startReaper(
  db: Db,
  policy: RunPolicy,
  { log, pubsub, wakeUps, counters }: ReaperOptions,
): Ticker {
  const everyMs = Math.min(EVERY_MS, policy.leaseMs / 4);
  return startTicker({
    everyMs,
    // Less than the interval, so that a server that is alone has a turn every time.
    task: () => reap(db, policy, pubsub, { counters, turnMs: everyMs / 2, wake: (run) => wakeUps.wake(run) }),
    onError(error) {
      counters.failed("reaper");
      log.warn({ error }, "failed to reap overdue runs");
    },
  });
}
