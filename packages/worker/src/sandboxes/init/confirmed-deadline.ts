/** How long a confirmation that has arrived may take to be read, because this process was busy or stopped. */
const readMs = 1_000;

/**
 * The deadline that init is known to have. A connection can be interrupted without being closed, for example if the
 * container engine hangs. Then init does not receive the extensions, and ends at the last deadline that it has confirmed.
 */
export class ConfirmedDeadline {
  readonly #onMissed: () => void;
  readonly #pending = new Map<number, number>();
  /** A `performance.now()` time. */
  #at = 0;
  #latest = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `onMissed` is called when init must have ended without a word. */
  constructor(onMissed: () => void) {
    this.#onMissed = onMissed;
  }

  /** The latest deadline that was sent, as a `performance.now()` time. init may have received it. */
  get latest(): number {
    return this.#latest;
  }

  /** Called when a deadline is sent. `id` identifies its confirmation. */
  onSent(id: number, ms: number): void {
    const at = performance.now() + ms;
    this.#pending.set(id, at);
    this.#latest = Math.max(this.#latest, at);
  }

  /** Returns whether a deadline has this id. */
  onConfirmed(id: number): boolean {
    const at = this.#pending.get(id);
    if (at === undefined) return false;
    this.#pending.delete(id);
    this.#at = at;
    this.#schedule();
    return true;
  }

  clear(): void {
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    const leftMs = this.#at - performance.now();
    const expire = () => {
      this.#timer = setTimeout(() => this.#onMissed(), readMs).unref();
    };
    this.#timer = setTimeout(expire, Math.min(Math.max(0, leftMs), maxTimerMs)).unref();
  }
}

const maxTimerMs = 2 ** 31 - 1;
