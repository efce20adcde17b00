/**
 * Finds a part in texts in linear time, with the algorithm of Knuth, Morris and Pratt.
 *
 * `String.indexOf` is faster for most texts, but for some it takes time proportional to the product of both lengths: a
 * hostile part of 100 KB blocks the thread for minutes, and nothing can interrupt it. Its cost is acceptable for short
 * parts, so it searches for these, and for the beginning of longer ones.
 */
const MAX_NATIVE_CHARACTERS = 100;

export class TextSearch {
  readonly #part: string;
  readonly #beginning: string;
  /** For each position in the part, the length of the longest proper prefix of the part that ends there. */
  readonly #borders: Int32Array;

  constructor(part: string) {
    this.#part = part;
    this.#beginning = part.slice(0, MAX_NATIVE_CHARACTERS);
    this.#borders = new Int32Array(part.length > MAX_NATIVE_CHARACTERS ? part.length : 0);
    for (let at = 1, length = 0; at < this.#borders.length; at++) {
      length = this.#extend(length, part.charCodeAt(at));
      this.#borders[at] = length;
    }
  }

  /** Returns the position of the part at or after `from`, or -1, like `String.indexOf`. */
  indexIn(text: string, from = 0): number {
    if (this.#borders.length === 0) return text.indexOf(this.#part, from);
    let length = 0;
    for (let at = from; at < text.length; at++) {
      if (length === 0) {
        at = text.indexOf(this.#beginning, at);
        if (at === -1) return -1;
      }
      length = this.#extend(length, text.charCodeAt(at));
      if (length === this.#part.length) return at - length + 1;
    }
    return -1;
  }

  /** Returns up to `max` positions of the part, without overlaps. */
  allIn(text: string, max: number): number[] {
    const positions: number[] = [];
    let at = this.indexIn(text);
    while (at !== -1 && positions.length < max) {
      positions.push(at);
      at = this.indexIn(text, at + this.#part.length);
    }
    return positions;
  }

  /** Returns how much of the part matches after the next character, if `length` characters matched before it. */
  #extend(length: number, character: number): number {
    let matched = length;
    while (matched > 0 && this.#part.charCodeAt(matched) !== character)
      matched = this.#borders[matched - 1] as number;
    return this.#part.charCodeAt(matched) === character ? matched + 1 : 0;
  }
}
