/**
 * A lease is this worker's right to execute a run. The server grants it with a claim for a fixed duration, and each
 * heartbeat that lists the execution renews it for the same duration.
 *
 * For the server, the duration starts when it handles the request. For the worker, it starts when the request is sent,
 * which is earlier, so the worker always considers its lease expired before the server does. Times are values of the
 * monotonic `process.hrtime.bigint()`, which does not jump when the system clock is changed.
 *
 * A lease ends in one of three ways:
 * - It expires and is lost: the worker could not renew it before its deadline.
 * - It is marked lost: the server no longer lists the execution, or something killed its commands from outside.
 * - It is released: the work is done, and the deadline no longer matters.
 *
 * When a lease is lost, `signal` aborts with the reason. Everything that the execution does depends on this signal.
 * Each renewal also extends the deadline of the sandbox, whose watchdog kills all commands at the deadline even if this
 * process hangs. A lost lease cannot be regained.
 */
export class Lease {
  #expiresAt: bigint;
  readonly #durationMs: number;
  readonly #lost = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  readonly #onExtended: (deadline: bigint) => void;

  constructor({
    sentAt,
    durationMs,
    onExtended,
  }: { sentAt: bigint; durationMs: number; onExtended(deadline: bigint): void }) {
    this.#durationMs = durationMs;
    this.#onExtended = onExtended;
    this.#expiresAt = sentAt;
    this.extend(sentAt);
  }

  /** Aborts when the lease is lost, with the reason. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  get deadline(): bigint {
    return this.#expiresAt;
  }

  /** Renews the lease after a successful request that was sent at `sentAt`. */
  extend(sentAt: bigint) {
    if (this.signal.aborted) return;
    this.#expiresAt = sentAt + BigInt(this.#durationMs) * 1_000_000n;
    this.#onExtended(this.#expiresAt);
    clearTimeout(this.#timer);
    const leftMs = Number(this.#expiresAt - process.hrtime.bigint()) / 1e6;
    this.#timer = setTimeout(
      () => this.markLost("The lease expired because the server could not be reached."),
      Math.max(0, leftMs),
    );
  }

  markLost(reason: string) {
    clearTimeout(this.#timer);
    this.#lost.abort(new Error(reason));
  }

  /** Stops the expiry timer after the work is done. */
  release() {
    clearTimeout(this.#timer);
  }
}
