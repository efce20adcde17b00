const KEPT_MS = 5 * 60_000;

/**
 * Who has lately shown a good key or session from where. Their requests need not be counted as guesses first, and go on
 * where somebody else behind the same address guesses.
 */
export class Acquaintances {
  private recent = new Set<string>();
  private earlier = new Set<string>();
  private turned = performance.now();

  has(name: string): boolean {
    this.turn();
    return this.recent.has(name) || this.earlier.has(name);
  }

  add(name: string) {
    this.turn();
    this.recent.add(name);
  }

  /** Its credential was refused. */
  delete(name: string) {
    this.recent.delete(name);
    this.earlier.delete(name);
  }

  private turn() {
    const now = performance.now();
    if (now - this.turned < KEPT_MS) return;
    this.earlier = this.recent;
    this.recent = new Set();
    this.turned = now;
  }
}
