/** A cache that keeps at most `capacity` entries. */
export class Cache {
  #entries = new Map();

  constructor(capacity) {
    this.capacity = capacity;
  }

  get(key) {
    const value = this.#entries.get(key);
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key, value) {
    this.#entries.set(key, value);
    if (this.#entries.size > this.capacity) {
      this.#entries.delete(this.#entries.keys().next().value);
    }
  }

  get size() {
    return this.#entries.size;
  }
}
