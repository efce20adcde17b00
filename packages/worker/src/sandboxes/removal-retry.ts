const minDelayMs = 5_000;
const maxDelayMs = 60_000;

/** Repeats a removal until it succeeds, with growing delays, because an engine or a cluster that does not respond may be restarted. */
export class RemovalRetry {
  readonly #remove: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #delayMs = minDelayMs;
  #isStopped = false;

  /** `remove` rejects if something remains. */
  constructor(remove: () => Promise<void>) {
    this.#remove = remove;
  }

  schedule(): void {
    if (this.#timer || this.#isStopped) return;
    this.#timer = setTimeout(() => void this.#run(), this.#delayMs).unref();
    this.#delayMs = Math.min(2 * this.#delayMs, maxDelayMs);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  async #run(): Promise<void> {
    try {
      await this.#remove();
      this.#delayMs = minDelayMs;
      this.#timer = undefined;
    } catch {
      this.#timer = undefined;
      this.schedule();
    }
  }
}
