const GENERATION_MS = 5 * 60_000;

/**
 * Remembers which credentials were recently valid, and from which network. Requests from these callers do not count as
 * guesses, so a client that guesses keys from the same address cannot lock them out.
 *
 * Callers are stored in two generations, so an entry expires five to ten minutes after its last authentication.
 */
export class RecentCallers {
  #recent = new Set<string>();
  #previous = new Set<string>();
  #rotatedAt = performance.now();

  has(caller: string): boolean {
    this.#rotate();
    return this.#recent.has(caller) || this.#previous.has(caller);
  }

  add(caller: string) {
    this.#rotate();
    this.#recent.add(caller);
  }

  /** Removes a caller whose credential was rejected. */
  delete(caller: string) {
    this.#recent.delete(caller);
    this.#previous.delete(caller);
  }

  #rotate() {
    const now = performance.now();
    if (now - this.#rotatedAt < GENERATION_MS) return;
    this.#previous = this.#recent;
    this.#recent = new Set();
    this.#rotatedAt = now;
  }
}
