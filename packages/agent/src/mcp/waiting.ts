/** Requests whose answer is to come. One that its signal aborts before that is cancelled, once. */
export class Waiting {
  private readonly requests = new Map<unknown, () => void>();

  add(id: unknown, signal: AbortSignal, cancel: () => void) {
    const abort = () => {
      this.requests.delete(id);
      cancel();
    };
    signal.addEventListener("abort", abort, { once: true });
    this.requests.set(id, () => signal.removeEventListener("abort", abort));
  }

  answered(id: unknown) {
    this.requests.get(id)?.();
    this.requests.delete(id);
  }

  clear() {
    for (const id of [...this.requests.keys()]) this.answered(id);
  }
}
