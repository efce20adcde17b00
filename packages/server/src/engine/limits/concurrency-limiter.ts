import type { ApiError } from "../api-error.ts";

/*
 * A weighted semaphore with a limit per caller.
 *
 * `acquire(subject, size)` acquires `size` units for a caller and returns a function that releases them. It succeeds
 * immediately if both limits allow it: `max` for all callers together, and `maxPerCaller` for this caller. Otherwise
 * the caller waits in a queue for up to `waitMs`. After that, `acquire` throws the `perCaller` error if the caller has
 * reached its own limit, or the `total` error if other callers are using the capacity.
 *
 * When units are released, waiters are admitted in order of arrival, with two rules:
 * - A waiter that is blocked only by its own limit is skipped, so it never delays other callers.
 * - If any other waiter does not fit, the waiters behind it remain in the queue, so small requests cannot starve a
 *   large one.
 *
 * This complements the rate limits (rates.ts). A rate limit allows a caller to send a whole minute's requests at once.
 * The concurrency limit bounds how many of them run at the same time, so one caller's burst slows down only that
 * caller.
 */

export interface ConcurrencyLimits {
  /** The limit for all callers together. */
  max: number;
  maxPerCaller: number;
  /** How long `acquire` waits before it fails. */
  waitMs: number;
}

export interface ConcurrencyErrors {
  /** Creates the error for a caller that has reached its own limit. */
  perCaller(): ApiError;
  /** Creates the error for a caller that is below its own limit when the total limit has been reached. */
  total(): ApiError;
}

interface Waiter {
  subject: string;
  size: number;
}

export class ConcurrencyLimiter {
  readonly #limits: ConcurrencyLimits;
  readonly #errors: ConcurrencyErrors;
  readonly #usedBySubject = new Map<string, number>();
  readonly #waiting = new Map<Waiter, () => void>();
  #used = 0;
  #rejected = 0;

  constructor(limits: ConcurrencyLimits, errors: ConcurrencyErrors) {
    this.#limits = limits;
    this.#errors = errors;
  }

  /** Exposed for metrics. */
  get stats(): { used: number; waiting: number; rejected: number } {
    return { used: this.#used, waiting: this.#waiting.size, rejected: this.#rejected };
  }

  /** Waits for capacity and returns a function that releases it. Throws after `waitMs`. */
  async acquire(subject: string, size = 1): Promise<() => void> {
    const waiter = { subject, size };
    if (this.#fits(waiter)) this.#add(waiter, 1);
    else await this.#wait(waiter);
    return this.#release(waiter);
  }

  /** Like `acquire`, but throws immediately if there is no capacity. */
  acquireNow(subject: string): () => void {
    const waiter = { subject, size: 1 };
    if (!this.#fits(waiter)) throw this.#reject(waiter);
    this.#add(waiter, 1);
    return this.#release(waiter);
  }

  /** Runs work while holding one unit. */
  async run<T>(subject: string, work: () => Promise<T>): Promise<T> {
    const release = await this.acquire(subject);
    try {
      return await work();
    } finally {
      release();
    }
  }

  #release(waiter: Waiter): () => void {
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#add(waiter, -1);
      this.#admitWaiters();
    };
  }

  #reject(waiter: Waiter): ApiError {
    this.#rejected++;
    return this.#exceedsOwnLimit(waiter) ? this.#errors.perCaller() : this.#errors.total();
  }

  #exceedsOwnLimit({ subject, size }: Waiter): boolean {
    return (this.#usedBySubject.get(subject) ?? 0) + size > this.#limits.maxPerCaller;
  }

  #fits(waiter: Waiter): boolean {
    return this.#used + waiter.size <= this.#limits.max && !this.#exceedsOwnLimit(waiter);
  }

  #add({ subject, size }: Waiter, sign: 1 | -1) {
    this.#used += sign * size;
    const used = (this.#usedBySubject.get(subject) ?? 0) + sign * size;
    if (used > 0) this.#usedBySubject.set(subject, used);
    else this.#usedBySubject.delete(subject);
  }

  #wait(waiter: Waiter): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(waiter);
        reject(this.#reject(waiter));
      }, this.#limits.waitMs);
      this.#waiting.set(waiter, () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #admitWaiters() {
    for (const [waiter, admit] of this.#waiting) {
      if (this.#exceedsOwnLimit(waiter)) continue;
      if (!this.#fits(waiter)) return;
      this.#waiting.delete(waiter);
      this.#add(waiter, 1);
      admit();
    }
  }
}
