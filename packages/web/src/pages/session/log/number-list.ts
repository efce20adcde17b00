type Numbers = Uint8Array | Uint16Array | Uint32Array | Float32Array;

/** A growable typed array. It uses only a few bytes per number, while an array of objects would use about a hundred. */
export class NumberList<T extends Numbers> {
  #values: T;
  readonly #make: (length: number) => T;

  constructor(make: (length: number) => T) {
    this.#make = make;
    this.#values = make(1_024);
  }

  get(index: number): number {
    return this.#values[index] ?? 0;
  }

  set(index: number, value: number) {
    if (index >= this.#values.length) {
      const longer = this.#make(Math.max(index + 1, this.#values.length * 2));
      longer.set(this.#values);
      this.#values = longer;
    }
    this.#values[index] = value;
  }
}

export const uint8List = () => new NumberList((length) => new Uint8Array(length));
export const uint16List = () => new NumberList((length) => new Uint16Array(length));
export const uint32List = () => new NumberList((length) => new Uint32Array(length));
