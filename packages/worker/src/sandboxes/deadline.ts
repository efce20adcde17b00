const maxTimerMs = 2 ** 31 - 1;

/**
 * The time at which a sandbox's processes end. init holds the same deadline inside the container, which works if this
 * worker is stopped; this timer works if init is paused or does not respond.
 */
export class Deadline {
  readonly #onPassed: () => void;
  #at: bigint;
  #timer: NodeJS.Timeout | undefined;

  constructor(at: bigint, onPassed: () => void) {
    this.#at = at;
    this.#onPassed = onPassed;
    this.#schedule();
  }

  /** A `process.hrtime.bigint()` time. */
  get at(): bigint {
    return this.#at;
  }

  set(at: bigint): void {
    this.#at = at;
    this.#schedule();
  }

  clear(): void {
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    const ms = Math.max(0, Math.ceil(Number(this.#at - process.hrtime.bigint()) / 1e6));
    this.#timer = setTimeout(
      () => {
        if (process.hrtime.bigint() < this.#at) this.#schedule();
        else this.#onPassed();
      },
      Math.min(ms, maxTimerMs),
    ).unref();
  }
}
