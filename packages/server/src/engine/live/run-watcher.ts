import type { RunEvent } from "@outrider/contract/event";
import { isFinal } from "@outrider/contract/run-state";
import type { Logger } from "pino";
import { findRevokedCredentials } from "../../store/auth/credentials.ts";
import type { Db } from "../../store/connection/db.ts";
import type { LogPage, LogRange } from "../../store/log-page.ts";
import { listEvents } from "../../store/runs/events.ts";
import { findRunState, findRunStates, type RunStateRow } from "../../store/runs/run-state.ts";
import { startTicker } from "../../ticker.ts";
import type { Counters } from "../operations/counters.ts";
import { type PubSub, topics } from "./pubsub.ts";

const POLL_MS = 500;

interface Waiter {
  runId: string;
  credentialId: string;
  after: number;
  settle(outcome: "changed" | "ended"): void;
}

export interface RunSnapshot extends LogPage<RunEvent> {
  runState: RunStateRow | undefined;
}

interface EventRange extends LogRange {
  runId: string;
}

/**
 * Lets streams wait for changes to runs. Each server has one poller that reads the state of all watched runs in one
 * query every POLL_MS. A pub/sub message about a watched run triggers an immediate poll.
 */
export interface RunWatcher {
  /**
   * Resolves with "changed" when the run has events after `after` or reaches a final state. Resolves with "ended" when
   * the run is deleted, the caller's key or session is no longer valid, or the signal aborts.
   */
  next(watched: {
    runId: string;
    credentialId: string;
    after: number;
    signal: AbortSignal;
  }): Promise<"changed" | "ended">;
  /** Reads a run's state, then its events after `after`. Concurrent calls with the same arguments share one read. */
  read(range: EventRange): Promise<RunSnapshot>;
  /** Returns the number of waiting streams. */
  watching(): number;
  close(): Promise<void>;
}

interface RunWatcherOptions {
  db: Db;
  pubsub: PubSub;
  counters: Counters;
  log: Logger;
}

export function openRunWatcher({ db, pubsub, counters, log }: RunWatcherOptions): RunWatcher {
  const waiters = new Set<Waiter>();
  const reads = new Map<string, Promise<RunSnapshot>>();

  async function poll() {
    const current = [...waiters];
    if (current.length === 0) return;
    const runIds = [...new Set(current.map(({ runId }) => runId))];
    const credentialIds = [...new Set(current.map(({ credentialId }) => credentialId))];
    const [rows, revokedIds] = await Promise.all([
      findRunStates(db, runIds),
      findRevokedCredentials(db, credentialIds),
    ]);
    const runStates = new Map(rows.map((row) => [row.run_id, row]));
    const revoked = new Set(revokedIds);
    for (const waiter of current) {
      const runState = runStates.get(waiter.runId);
      if (!runState || revoked.has(waiter.credentialId)) waiter.settle("ended");
      else if (runState.last_seq > waiter.after || isFinal(runState.state)) waiter.settle("changed");
    }
  }

  async function readSnapshot(range: EventRange): Promise<RunSnapshot> {
    // The state is read before the events, so that a final state guarantees a complete list of events.
    const runState = await findRunState(db, range.runId);
    return { runState, ...(await listEvents(db, range)) };
  }

  const ticker = startTicker({
    everyMs: POLL_MS,
    task: poll,
    onError(error) {
      counters.failed("run_watcher");
      log.warn({ error }, "failed to poll watched runs");
    },
  });

  return {
    next({ runId, credentialId, after, signal }) {
      return new Promise((resolve) => {
        const waiter: Waiter = {
          runId,
          credentialId,
          after,
          settle(outcome) {
            waiters.delete(waiter);
            off();
            signal.removeEventListener("abort", abort);
            resolve(outcome);
          },
        };
        const abort = () => waiter.settle("ended");
        const off = pubsub.on(topics.run(runId), ticker.trigger);
        signal.addEventListener("abort", abort);
        waiters.add(waiter);
        if (signal.aborted) abort();
        // Polls immediately, because events may have been written since the caller's last read.
        else ticker.trigger();
      });
    },
    read(range) {
      const key = `${range.runId} ${range.after} ${range.limit}`;
      const pending = reads.get(key) ?? readSnapshot(range).finally(() => reads.delete(key));
      reads.set(key, pending);
      return pending;
    },
    watching: () => waiters.size,
    async close() {
      for (const waiter of [...waiters]) waiter.settle("ended");
      await ticker.stop();
    },
  };
}
