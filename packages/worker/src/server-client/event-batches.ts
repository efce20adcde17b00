const MAX_EVENTS = 500;
const MAX_BYTES = 512 * 1024;

export interface Batch<E> {
  batch: number;
  events: E[];
}

interface EventBatchesOptions {
  /** How long events are collected before they are sent together. */
  delayMs: number;
  /** Sends the pending events. Called after the delay. */
  flush(): Promise<unknown>;
}

/**
 * Queues the events of a run or a build and groups them into batches for the server.
 *
 * Protocol: events are sent in batches with consecutive numbers, starting at 1. Only one batch is in flight. The HTTP
 * client retries a batch until the server answers, and the server ignores a batch number that it has already stored.
 * Each event is therefore stored exactly once and in order, even if responses are lost.
 *
 * If a batch fails for good, usually because the lease is lost, every later call to `inOrder` rejects with the same
 * error.
 */
export class EventBatches<E> {
  readonly #options: EventBatchesOptions;
  readonly #pending: { event: E; bytes: number }[] = [];
  #pendingBytes = 0;
  #batch = 0;
  /** The number of the last batch that the server has stored. */
  #storedBatch = 0;
  #sending: Promise<unknown> = Promise.resolve();
  #failure: unknown;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: EventBatchesOptions) {
    this.#options = options;
  }

  /** The error of the batch that failed, if any. */
  get failure(): unknown {
    return this.#failure;
  }

  get isEmpty(): boolean {
    return this.#pending.length === 0;
  }

  get isFull(): boolean {
    return this.#pending.length >= MAX_EVENTS;
  }

  /** Adds an event to the next batch, which is sent soon. */
  add(event: E) {
    const bytes = JSON.stringify(event).length;
    this.#pending.push({ event, bytes });
    this.#pendingBytes += bytes;
    this.flushSoon();
  }

  flushSoon() {
    this.#timer ??= setTimeout(() => {
      this.#options.flush().catch(() => {});
    }, this.#options.delayMs);
  }

  /** Runs one call at a time, because the server accepts batches only in order. */
  inOrder<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#sending.then(async () => {
      if (this.#failure) throw this.#failure;
      const answer = await work();
      this.#storedBatch = this.#batch;
      return answer;
    });
    this.#sending = result.catch((error) => {
      this.#failure = error;
    });
    return result;
  }

  /** Sends full batches until the remaining events fit in one batch. */
  async sendExcess(send: (batch: Batch<E>) => Promise<unknown>): Promise<void> {
    while (this.#pending.length > MAX_EVENTS || this.#pendingBytes > MAX_BYTES) {
      await send(this.take());
      this.#storedBatch = this.#batch;
    }
  }

  /** Returns the next batch. It may be empty. */
  take(): Batch<E> {
    this.stop();
    let total = 0;
    let count = 0;
    for (const { bytes } of this.#pending.slice(0, MAX_EVENTS)) {
      if (count > 0 && total + bytes > MAX_BYTES) break;
      total += bytes;
      count += 1;
    }
    this.#batch += 1;
    this.#pendingBytes -= total;
    return { batch: this.#batch, events: this.#pending.splice(0, count).map(({ event }) => event) };
  }

  /**
   * Starts over after a batch that the server rejected. Drops all events that are not stored, and reuses the number of
   * the rejected batch.
   */
  dropUnstored() {
    this.stop();
    this.#pending.length = 0;
    this.#pendingBytes = 0;
    this.#batch = this.#storedBatch;
    this.#failure = undefined;
  }

  /** Stops the timer that sends pending events. */
  stop() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
