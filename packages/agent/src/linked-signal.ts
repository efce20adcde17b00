/**
 * A signal that aborts with the first of its sources, or by `abort`, until it is disposed.
 *
 * AbortSignal.any does the same without an end, but reading `aborted` visits all of its sources, and adding a listener keeps it
 * alive in lists that the garbage collector has to clean up. In short turns, this took a tenth of the worker's time. Use it
 * where the end is known.
 */
export class LinkedSignal implements Disposable {
  readonly #controller = new AbortController();
  readonly #sources: AbortSignal[];
  readonly #onAbort = ({ target }: Event) => this.abort((target as AbortSignal).reason);

  constructor(...sources: AbortSignal[]) {
    this.#sources = sources;
    const aborted = sources.find((source) => source.aborted);
    if (aborted) this.#controller.abort(aborted.reason);
    else for (const source of sources) source.addEventListener("abort", this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(reason?: unknown): void {
    this.#controller.abort(reason);
  }

  /** Sources may live longer, so their listeners would keep this signal in memory. */
  [Symbol.dispose](): void {
    for (const source of this.#sources) source.removeEventListener("abort", this.#onAbort);
  }
}
