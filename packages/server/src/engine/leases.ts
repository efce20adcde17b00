import type { Logger } from "pino";
import type { Db } from "../store/db.ts";
import { endExecution } from "../store/executions.ts";
import { lockHead } from "../store/heads.ts";
import { abandonLease, listOverdue, type Overdue } from "../store/leases.ts";
import type { Rules } from "./rules.ts";
import { failRun } from "./runs.ts";
import type { Tally } from "./tally.ts";
import { topics, type Wake } from "./wake.ts";

const EVERY_MS = 1_000;

/** Holds every run to its bounds. Any number of servers may do it at once: each looks again under the run's lock. */
export async function reap(db: Db, rules: Rules, wake: Wake, tally?: Tally): Promise<void> {
  for (const one of await listOverdue(db, rules)) {
    if (!(await reapOne(db, rules, one))) continue;
    if (tally) tally.reaped[one.reason]++;
    wake.say(topics.run(one.run_id));
    wake.say(topics.queue);
  }
  tally?.succeeded("reaper");
}

async function reapOne(db: Db, rules: Rules, { run_id }: Overdue): Promise<boolean> {
  return db.begin(async (tx) => {
    const head = await lockHead(tx, run_id);
    const [still] = await listOverdue(tx, rules, run_id);
    if (!head || !still) return false;
    if (still.reason === "queue") {
      const message = `No worker took the run within ${hours(rules.queueMs)}.`;
      await failRun(tx, head, { error_code: "resource_unavailable", message });
    } else if (still.reason === "answer") {
      const message = `The question stayed without an answer for ${hours(rules.blockedMs)}.`;
      await failRun(tx, head, { error_code: "timeout", message });
    } else if (still.reason === "turn") {
      await failRun(tx, head, { error_code: "timeout", message: "The turn took longer than its timeout." });
    } else if (head.attempt >= rules.maxAttempts) {
      const message = `The worker was lost in each of ${head.attempt} attempts.`;
      await failRun(tx, head, { error_code: "worker_lost", message });
    } else {
      const executionId = head.execution_id as string;
      await abandonLease(tx, { runId: run_id, executionId, reason: "The worker was lost.", refund: false });
      await endExecution(tx, { executionId, outcome: "LOST" });
    }
    return true;
  });
}

function hours(ms: number): string {
  return ms >= 3_600_000 ? `${Math.round(ms / 3_600_000)} hours` : `${Math.round(ms / 1_000)} seconds`;
}

interface ReaperOptions {
  log: Logger;
  wake: Wake;
  tally: Tally;
}

export function startReaper(db: Db, rules: Rules, { log, wake, tally }: ReaperOptions) {
  const once = () =>
    reap(db, rules, wake, tally).catch((error) => {
      tally.failed("reaper");
      log.warn({ error }, "cannot look for overdue runs");
    });
  let work = Promise.resolve();
  let busy = false;
  const ticker = setInterval(
    () => {
      if (busy) return;
      busy = true;
      work = once().finally(() => {
        busy = false;
      });
    },
    Math.min(EVERY_MS, rules.leaseMs / 4),
  );
  return {
    async stop() {
      clearInterval(ticker);
      await work;
    },
  };
}
