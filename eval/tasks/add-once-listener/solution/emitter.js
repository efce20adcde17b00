export class Emitter {
  #listeners = new Map();

  on(name, listener) {
    this.#add(name, { listener, isOnce: false });
  }

  once(name, listener) {
    this.#add(name, { listener, isOnce: true });
  }

  off(name, listener) {
    const entries = this.#listeners.get(name) ?? [];
    const index = entries.findIndex((entry) => entry.listener === listener);
    if (index >= 0) this.#listeners.set(name, entries.toSpliced(index, 1));
  }

  emit(name, ...values) {
    for (const { listener, isOnce } of this.#listeners.get(name) ?? []) {
      if (isOnce) this.off(name, listener);
      listener(...values);
    }
  }

  #add(name, entry) {
    this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), entry]);
  }
}
