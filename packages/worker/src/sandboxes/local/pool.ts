/**
 * Delay before the pool creates a replacement. A caller that has just taken an item is about to open a sandbox, which
 * should not compete with the replacement for the CPU.
 */
const refillDelayMs = 25;

interface PoolOptions<Kind, Item> {
  create(kind: Kind): Promise<Item>;
  discard(item: Item): unknown;
}

/** Keeps one item of each requested kind ready, because items are slow to create. */
export class Pool<Kind, Item> {
  readonly #options: PoolOptions<Kind, Item>;
  readonly #ready = new Map<Kind, Promise<Item>>();
  readonly #timers = new Map<Kind, NodeJS.Timeout>();
  #isClosed = false;

  constructor(options: PoolOptions<Kind, Item>) {
    this.#options = options;
  }

  async take(kind: Kind): Promise<Item> {
    const pooled = this.#ready.get(kind);
    this.#ready.delete(kind);
    // The cause of a failed preparation may no longer exist, so a failure is retried once.
    const prepared = pooled ? await pooled.catch(() => undefined) : undefined;
    const item = prepared ?? (await this.#options.create(kind));
    if (this.#isClosed) {
      await this.#options.discard(item);
      throw new Error("The sandbox provider is stopped.");
    }
    clearTimeout(this.#timers.get(kind));
    this.#timers.set(kind, setTimeout(() => this.#prepare(kind), refillDelayMs).unref());
    return item;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    const pooled = [...this.#ready.values()];
    this.#ready.clear();
    await Promise.all(pooled.map((item) => item.then(this.#options.discard, () => {})));
  }

  #prepare(kind: Kind): void {
    this.#timers.delete(kind);
    if (this.#ready.has(kind)) return;
    const item = this.#options.create(kind);
    item.catch(() => {}); // `take` retries
    this.#ready.set(kind, item);
  }
}
