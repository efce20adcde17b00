import type { Message, PendingMethods } from "./messages/message.ts";

interface PendingRequest {
  method: string;
  /** Stops listening to the request's signal. */
  detach(): void;
}

/** Tracks requests that have no response yet. A request whose signal aborts is cancelled once. */
export class PendingRequests {
  readonly #requests = new Map<number, PendingRequest>();

  add(
    { id, method }: Extract<Message, { method: string; id: unknown }>,
    { signal, cancel }: { signal?: AbortSignal | undefined; cancel?: (() => void) | undefined },
  ) {
    const key = Number(id);
    const abort = () => {
      this.#requests.delete(key);
      cancel?.();
    };
    signal?.addEventListener("abort", abort, { once: true });
    this.#requests.set(key, { method, detach: () => signal?.removeEventListener("abort", abort) });
  }

  get methods(): PendingMethods {
    return new Map([...this.#requests].map(([id, { method }]) => [id, method]));
  }

  get ids(): number[] {
    return [...this.#requests.keys()];
  }

  has(id: number): boolean {
    return this.#requests.has(id);
  }

  settle(id: number) {
    this.#requests.get(id)?.detach();
    this.#requests.delete(id);
  }

  clear() {
    for (const id of this.ids) this.settle(id);
  }
}
