import type { RunEvent } from "@outrider/contract/event";
import { isFinal } from "@outrider/contract/run";
import type { Logger } from "pino";
import { findSpentCredentials } from "../store/credentials.ts";
import type { Db } from "../store/db.ts";
import { listEvents } from "../store/events.ts";
import { findHead, findHeads, type Head } from "../store/heads.ts";
import type { Tally } from "./tally.ts";
import { topics, type Wake } from "./wake.ts";

const POLL_MS = 500;

interface Waiter {
  runId: string;
  credentialId: string;
  after: number;
  settle(change: "moved" | "over"): void;
}

export interface Look {
  head: Head | undefined;
  events: RunEvent[];
  /** Large ones are behind these, although fewer were read than asked for. */
  isCut: boolean;
}

/**
 * Who watches runs waits here. One poller for each server asks for the heads of all watched runs in one query; a word
 * of a change only makes it ask sooner.
 */
export interface Watch {
  /** Resolves when the run has events behind `after`, or is gone, or the key or session is good no longer ("over"). */
  next(watcher: {
    runId: string;
    credentialId: string;
    after: number;
    signal: AbortSignal;
  }): Promise<"moved" | "over">;
  /** A run's head, and then its events behind `after`. Who asks for the same at the same moment shares the answer. */
  read(place: { runId: string; after: number; limit: number }): Promise<Look>;
  watching(): number;
  close(): Promise<void>;
}

interface WatchOptions {
  db: Db;
  wake: Wake;
  tally: Tally;
  log: Logger;
}

export function openWatch({ db, wake, tally, log }: WatchOptions): Watch {
  const waiters = new Set<Waiter>();
  const looks = new Map<string, Promise<Look>>();
  let poll: Promise<void> | undefined;
  let again = false;

  async function askOnce() {
    const current = [...waiters];
    if (current.length === 0) return;
    const heads = new Map<string, Head>();
    const runIds = [...new Set(current.map(({ runId }) => runId))];
    const ids = [...new Set(current.map(({ credentialId }) => credentialId))];
    const [rows, spentIds] = await Promise.all([findHeads(db, runIds), findSpentCredentials(db, ids)]);
    for (const head of rows) heads.set(head.run_id, head);
    const spent = new Set(spentIds);
    for (const waiter of current) {
      const head = heads.get(waiter.runId);
      if (!head || spent.has(waiter.credentialId)) waiter.settle("over");
      else if (head.last_seq > waiter.after || isFinal(head.state)) waiter.settle("moved");
    }
  }

  function ask() {
    again = poll !== undefined;
    poll ??= askOnce()
      .catch((error) => {
        tally.failed("watch");
        log.warn({ error }, "cannot look for changes of watched runs");
      })
      .finally(() => {
        poll = undefined;
        if (again) ask();
      });
  }

  async function look({
    runId,
    after,
    limit,
  }: {
    runId: string;
    after: number;
    limit: number;
  }): Promise<Look> {
    // The state is read before the events: if it is final, nothing comes behind what is read next.
    const head = await findHead(db, runId);
    return { head, ...(await listEvents(db, { runId, after, limit })) };
  }

  const ticker = setInterval(ask, POLL_MS);

  return {
    next({ runId, credentialId, after, signal }) {
      return new Promise((resolve) => {
        const waiter: Waiter = {
          runId,
          credentialId,
          after,
          settle(change) {
            waiters.delete(waiter);
            off();
            signal.removeEventListener("abort", abandon);
            resolve(change);
          },
        };
        const abandon = () => waiter.settle("over");
        const off = wake.on(topics.run(runId), ask);
        signal.addEventListener("abort", abandon);
        waiters.add(waiter);
        if (signal.aborted) abandon();
        // What was written between the caller's last read and now would otherwise wait for the ticker.
        else ask();
      });
    },
    read(place) {
      const name = `${place.runId} ${place.after} ${place.limit}`;
      const begun = looks.get(name) ?? look(place).finally(() => looks.delete(name));
      looks.set(name, begun);
      return begun;
    },
    watching: () => waiters.size,
    async close() {
      clearInterval(ticker);
      for (const waiter of [...waiters]) waiter.settle("over");
      await poll;
    },
  };
}
