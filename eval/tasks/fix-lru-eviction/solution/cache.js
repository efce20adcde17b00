/** A cache that keeps at most `capacity` entries and evicts the least recently used one. */
export class Cache {
  // A Map iterates in insertion order, so the first key is the least recently used one.
  #entries = new Map();

  constructor(capacity) {
    this.capacity = capacity;
  }

  get(key) {
    if (!this.#entries.has(key)) return undefined;
    const value = this.#entries.get(key);
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key, value) {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size > this.capacity) {
      this.#entries.delete(this.#entries.keys().next().value);
    }
  }

  get size() {
    return this.#entries.size;
  }
}
