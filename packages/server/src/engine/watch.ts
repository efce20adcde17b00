import { isFinal } from "@outrider/contract/run";
import type { Logger } from "pino";
import type { Db } from "../store/db.ts";
import { findHeads, type Head } from "../store/heads.ts";
import { findSpentKeys } from "../store/keys.ts";

const CHANNEL = "outrider_runs";
const POLL_MS = 500;
const NOTIFY_BATCH_MS = 5;
/** Well below the 8,000 bytes that a notification may hold. */
const NOTIFY_BATCH_RUNS = 150;

interface Waiter {
  runId: string;
  keyId: string;
  after: number;
  settle(change: "moved" | "over"): void;
}

/**
 * Who watches runs waits here. One poller for each server asks for the heads of all watched runs in one query;
 * notifications only make it ask sooner, so that a lost one costs half a second and nothing else.
 */
export interface Watch {
  /** A run was written to by this server; call it after the commit. */
  changed(runId: string): void;
  /** Resolves when the run has events behind `after`, or is gone, or the key is good no longer ("over"). */
  next(watcher: {
    runId: string;
    keyId: string;
    after: number;
    signal: AbortSignal;
  }): Promise<"moved" | "over">;
  watching(): number;
  close(): Promise<void>;
}

export async function openWatch(db: Db, log: Logger): Promise<Watch> {
  const waiters = new Set<Waiter>();
  const touched = new Set<string>();
  let poll: Promise<void> | undefined;
  let again = false;
  let notifying: NodeJS.Timeout | undefined;

  async function askOnce() {
    const current = [...waiters];
    if (current.length === 0) return;
    const heads = new Map<string, Head>();
    for (const head of await findHeads(db, [...new Set(current.map(({ runId }) => runId))]))
      heads.set(head.run_id, head);
    const spent = new Set(await findSpentKeys(db, [...new Set(current.map(({ keyId }) => keyId))]));
    for (const waiter of current) {
      const head = heads.get(waiter.runId);
      if (!head || spent.has(waiter.keyId)) waiter.settle("over");
      else if (head.last_seq > waiter.after || isFinal(head.state)) waiter.settle("moved");
    }
  }

  function ask() {
    again = poll !== undefined;
    poll ??= askOnce()
      .catch((error) => log.warn({ error }, "cannot look for changes of watched runs"))
      .finally(() => {
        poll = undefined;
        if (again) ask();
      });
  }

  function notifyOthers() {
    notifying = undefined;
    const batch = [...touched].slice(0, NOTIFY_BATCH_RUNS);
    for (const runId of batch) touched.delete(runId);
    db.notify(CHANNEL, batch.join()).catch((error) => log.debug({ error }, "cannot notify other servers"));
    if (touched.size > 0) notifying = setTimeout(notifyOthers, NOTIFY_BATCH_MS);
  }

  const ticker = setInterval(ask, POLL_MS);
  const listening = await db.listen(CHANNEL, (payload) => {
    const runs = new Set(payload.split(","));
    if ([...waiters].some(({ runId }) => runs.has(runId))) ask();
  });

  return {
    changed(runId) {
      touched.add(runId);
      notifying ??= setTimeout(notifyOthers, NOTIFY_BATCH_MS);
    },
    next({ runId, keyId, after, signal }) {
      return new Promise((resolve) => {
        const waiter: Waiter = {
          runId,
          keyId,
          after,
          settle(change) {
            waiters.delete(waiter);
            signal.removeEventListener("abort", abandon);
            resolve(change);
          },
        };
        const abandon = () => waiter.settle("over");
        if (signal.aborted) return resolve("over");
        signal.addEventListener("abort", abandon);
        waiters.add(waiter);
        // What was written between the caller's last read and now would otherwise wait for the ticker.
        ask();
      });
    },
    watching: () => waiters.size,
    async close() {
      clearInterval(ticker);
      clearTimeout(notifying);
      for (const waiter of [...waiters]) waiter.settle("over");
      await poll;
      await listening.unlisten().catch(() => {});
    },
  };
}
