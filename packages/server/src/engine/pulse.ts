import type { Logger } from "pino";
import type { Db } from "../store/db.ts";
import { type Refusal, unavailable } from "./refusal.ts";

const EVERY_MS = 500;
/** A question that waits longer for its answer waits for a database that is away, or for a connection that nobody gives back. */
const PATIENCE_MS = 3_000;

/**
 * Whether the database answers. One small question at a time goes the way of all others, through the same pool: while it
 * is not answered, nobody else would be. Then callers are told so at once, instead of waiting in a queue that only grows.
 */
export interface Pulse {
  /**
   * Work that asks the database, given up where it does not answer, unless `isLate` says that it has gone too far. What was
   * asked is not taken back: it is for work that changes nothing.
   */
  bounded<T>(work: () => Promise<T>, isLate?: () => boolean): Promise<T>;
  /** How long the last question took; how long an answer has been waited for, where that is longer. */
  seconds(): number;
  /** Callers whose work is not done. */
  callers(): number;
  stop(): Promise<void>;
}

export function startPulse(db: Db, log: Logger): Pulse {
  const waiting = new Set<{ giveUp(refusal: Refusal): void; isLate(): boolean }>();
  /** Since when an answer is waited for. */
  let since: number | undefined;
  let isAsking = false;
  let tookMs = 0;
  let isStuck = false;

  function look() {
    const wasStuck = isStuck;
    isStuck = since !== undefined && performance.now() - since > PATIENCE_MS;
    if (isStuck !== wasStuck) {
      if (isStuck)
        log.warn({ waiting: waiting.size }, "the database does not answer: callers are turned away");
      else log.info("the database answers again");
    }
    if (!isStuck) return;
    for (const { giveUp, isLate } of waiting) if (!isLate()) giveUp(away());
  }

  function ask() {
    if (isAsking) return;
    isAsking = true;
    const asked = performance.now();
    since ??= asked;
    const over = () => {
      isAsking = false;
      tookMs = performance.now() - asked;
      look();
    };
    // One that fails is no answer: where nobody can connect, others may still wait on connections that are dead.
    db`select 1`
      .then(
        () => {
          since = undefined;
        },
        () => {},
      )
      .then(over);
  }

  const ticker = setInterval(() => {
    ask();
    // After what has come meanwhile is read: if this process was held up, that is not the database's fault.
    setImmediate(look);
  }, EVERY_MS);

  return {
    bounded(work, isLate = () => false) {
      if (isStuck) return Promise.reject(away());
      return new Promise((resolve, reject) => {
        const one = { giveUp: reject, isLate };
        waiting.add(one);
        work()
          .then(resolve, reject)
          .finally(() => waiting.delete(one));
      });
    },
    seconds: () => Math.max(tookMs, since === undefined ? 0 : performance.now() - since) / 1_000,
    callers: () => waiting.size,
    async stop() {
      clearInterval(ticker);
    },
  };
}

function away(): Refusal {
  return unavailable("The database does not answer now. Try again in a moment.", 2);
}
