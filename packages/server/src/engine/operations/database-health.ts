import type { Logger } from "pino";
import { startTicker } from "../../ticker.ts";
import { type ApiError, unavailable } from "../api-error.ts";

const EVERY_MS = 500;
/** If a ping takes longer than this, the database is unreachable or the pool has no free connection. */
const TIMEOUT_MS = 3_000;

/**
 * Checks the database's health by sending one small query at a time through the pool that requests use. If the query is
 * not answered, other queries would not be answered either, so requests fail immediately instead of joining a growing
 * queue. The query reads the maintenance settings, which the server must poll anyway.
 */
export interface DatabaseHealth {
  /**
   * Runs work that reads the database. Rejects early if the database is not responding, unless `isCommitted` returns
   * true. The work itself is not aborted, so it must not change anything.
   */
  failFast<T>(work: () => Promise<T>, isCommitted?: () => boolean): Promise<T>;
  /** Returns the duration of the last ping, or the age of the pending one if that is longer. */
  pingSeconds(): number;
  /** Returns the number of calls in progress. */
  pendingCalls(): number;
  stop(): Promise<void>;
}

interface DatabaseHealthOptions {
  /** Sends the query. */
  ping(): Promise<unknown>;
  log: Logger;
}

export function startDatabaseHealth({ ping: send, log }: DatabaseHealthOptions): DatabaseHealth {
  const pending = new Set<{ reject(error: ApiError): void; isCommitted(): boolean }>();
  /** The time at which the oldest unanswered ping was sent. */
  let since: number | undefined;
  let isPinging = false;
  let tookMs = 0;
  let isUnresponsive = false;

  function check() {
    const wasUnresponsive = isUnresponsive;
    isUnresponsive = since !== undefined && performance.now() - since > TIMEOUT_MS;
    if (isUnresponsive !== wasUnresponsive) {
      if (isUnresponsive)
        log.warn({ pending: pending.size }, "database is not responding, rejecting requests");
      else log.info("database is responding again");
    }
    if (!isUnresponsive) return;
    for (const { reject, isCommitted } of pending) if (!isCommitted()) reject(notResponding());
  }

  function ping() {
    if (isPinging) return;
    isPinging = true;
    const sentAt = performance.now();
    since ??= sentAt;
    const done = () => {
      isPinging = false;
      tookMs = performance.now() - sentAt;
      check();
    };
    // An error does not count as a response: even if new connections fail quickly, requests may still be waiting on
    // dead connections.
    send()
      .then(
        () => {
          since = undefined;
        },
        () => {},
      )
      .then(done);
  }

  const ticker = startTicker({
    everyMs: EVERY_MS,
    task() {
      ping();
      // Checks only after pending I/O has been read, because the response may already have arrived while this process
      // was blocked.
      setImmediate(check);
    },
  });

  return {
    failFast(work, isCommitted = () => false) {
      if (isUnresponsive) return Promise.reject(notResponding());
      return new Promise((resolve, reject) => {
        const call = { reject, isCommitted };
        pending.add(call);
        work()
          .then(resolve, reject)
          .finally(() => pending.delete(call));
      });
    },
    pingSeconds: () => Math.max(tookMs, since === undefined ? 0 : performance.now() - since) / 1_000,
    pendingCalls: () => pending.size,
    stop: ticker.stop,
  };
}

function notResponding(): ApiError {
  return unavailable("The database is not responding. Try again in a moment.", 2);
}
