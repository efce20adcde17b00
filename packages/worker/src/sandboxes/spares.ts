/** Whoever has just taken one is about to open a sandbox, which should not have to wait while the next one is made. */
const restMs = 25;

interface SparesOptions<Kind, Thing> {
  make(kind: Kind): Promise<Thing>;
  discard(thing: Thing): unknown;
}

/** Things that take long to make, one of each kind made ahead; of no kind before it was first wanted. */
export class Spares<Kind, Thing> {
  readonly #options: SparesOptions<Kind, Thing>;
  readonly #ready = new Map<Kind, Promise<Thing>>();
  readonly #timers = new Map<Kind, NodeJS.Timeout>();
  #closed = false;

  constructor(options: SparesOptions<Kind, Thing>) {
    this.#options = options;
  }

  async take(kind: Kind): Promise<Thing> {
    const spare = this.#ready.get(kind);
    this.#ready.delete(kind);
    // What kept the spare from being made may be over.
    const made = spare ? await spare.catch(() => undefined) : undefined;
    const thing = made ?? (await this.#options.make(kind));
    if (this.#closed) {
      await this.#options.discard(thing);
      throw new Error("The sandbox provider is stopped.");
    }
    clearTimeout(this.#timers.get(kind));
    this.#timers.set(kind, setTimeout(() => this.#prepare(kind), restMs).unref());
    return thing;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    const spares = [...this.#ready.values()];
    this.#ready.clear();
    await Promise.all(spares.map((spare) => spare.then(this.#options.discard, () => {})));
  }

  #prepare(kind: Kind): void {
    this.#timers.delete(kind);
    if (this.#ready.has(kind)) return;
    const spare = this.#options.make(kind);
    spare.catch(() => {}); // whoever takes it tries again
    this.#ready.set(kind, spare);
  }
}
