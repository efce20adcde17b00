interface Running<T> {
  result: Promise<T>;
  callers: number;
  abort: AbortController;
}

/** Work that is done once for all who need its result at the same time. It is aborted when the last of them aborts. */
export class SharedWork<T> {
  readonly #running = new Map<string, Running<T>>();

  async do(key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const running = this.#running.get(key) ?? this.#start(key, work);
    running.callers += 1;
    const aborted = Promise.withResolvers<never>();
    const onAbort = () => aborted.reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await Promise.race([running.result, aborted.promise]);
    } finally {
      signal.removeEventListener("abort", onAbort);
      running.callers -= 1;
      if (running.callers === 0) await this.#end(key, running);
    }
  }

  #start(key: string, work: (signal: AbortSignal) => Promise<T>): Running<T> {
    const abort = new AbortController();
    const running = { result: work(abort.signal), callers: 0, abort };
    this.#running.set(key, running);
    return running;
  }

  /** Waits for work that is aborted, so that nothing is left of it afterwards. */
  async #end(key: string, { result, abort }: Running<T>): Promise<void> {
    this.#running.delete(key);
    abort.abort();
    await result.catch(() => {}); // the callers have it
  }
}
