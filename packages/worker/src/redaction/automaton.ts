/** Maps each byte to the byte that it is compared as: ASCII case is ignored, and a form encodes a space as a plus sign. */
export const folded = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 65 && byte <= 90 ? byte + 32 : byte === 43 ? 32 : byte,
);

/**
 * An Aho-Corasick automaton: it finds all patterns in one pass, with constant work per byte on average, regardless of
 * their number.
 *
 * A state is a prefix of a pattern, the longest one that the bytes so far end with. States are numbered in breadth-first
 * order, so the children of a state have consecutive numbers and need no table. State 0 is the empty prefix.
 */
export class Automaton {
  /** The state after each byte, folded or not, in state 0. */
  readonly firstStates = new Uint32Array(256);
  /** The children of a state are the states from `#firstChild[state]` to before `#firstChild[state + 1]`. */
  readonly #firstChild: Uint32Array;
  /** The last byte of each state's prefix. */
  readonly #label: Uint8Array;
  /** The longest other state whose prefix is a suffix of this state's prefix. */
  readonly #fallback: Uint32Array;
  /** The length of each state's prefix. */
  readonly depth: Uint16Array;
  /** The length of the longest pattern that ends with this state's prefix, or 0. */
  readonly matchLength: Uint16Array;
  /** The folded bytes that patterns start with. */
  readonly firstBytes: ReadonlySet<number>;
  readonly minLength: number;
  readonly maxLength: number;

  /** Patterns have between 1 and 65,535 bytes. */
  constructor(patterns: Uint8Array[]) {
    const sorted = patterns
      .map((pattern) => pattern.map((byte) => folded[byte] as number))
      .sort(Buffer.compare);
    this.minLength = sorted.reduce((min, { length }) => Math.min(min, length), Number.POSITIVE_INFINITY);
    this.maxLength = sorted.reduce((max, { length }) => Math.max(max, length), 0);
    this.firstBytes = new Set(sorted.map(([first]) => first as number));
    const maxStates = 1 + sorted.reduce((sum, { length }) => sum + length, 0);
    const firstChild = new Uint32Array(maxStates + 1);
    const label = new Uint8Array(maxStates);
    const depth = new Uint16Array(maxStates);
    const matchLength = new Uint16Array(maxStates);
    const parent = new Uint32Array(maxStates);
    // The patterns that start with a state's prefix are neighbors in the sorted list.
    const from = new Uint32Array(maxStates);
    const to = new Uint32Array(maxStates);
    to[0] = sorted.length;
    let states = 1;
    for (let state = 0; state < states; state++) {
      firstChild[state] = states;
      const length = depth[state] as number;
      const last = to[state] as number;
      let index = from[state] as number;
      // A pattern that equals the prefix precedes all longer ones.
      for (; index < last && (sorted[index] as Uint8Array).length === length; index++)
        matchLength[state] = length;
      while (index < last) {
        const byte = (sorted[index] as Uint8Array)[length] as number;
        from[states] = index;
        while (index < last && (sorted[index] as Uint8Array)[length] === byte) index++;
        to[states] = index;
        label[states] = byte;
        depth[states] = length + 1;
        parent[states] = state;
        states++;
      }
    }
    firstChild[states] = states;
    this.#firstChild = firstChild.slice(0, states + 1);
    this.#label = label.slice(0, states);
    this.#fallback = new Uint32Array(states);
    this.depth = depth.slice(0, states);
    this.matchLength = matchLength.slice(0, states);
    for (let state = 1; state < states; state++) this.#link(state, parent[state] as number);
  }

  /** Returns the state after one more folded byte. */
  next(state: number, byte: number): number {
    let prefix = state;
    while (prefix !== 0) {
      const child = this.#child(prefix, byte);
      if (child !== 0) return child;
      prefix = this.#fallback[prefix] as number;
    }
    return this.firstStates[byte] as number;
  }

  /** Sets what a state inherits from its fallback, which is shorter and therefore complete. */
  #link(state: number, parent: number) {
    const byte = this.#label[state] as number;
    if (parent === 0) {
      for (const unfolded of folded.keys()) if (folded[unfolded] === byte) this.firstStates[unfolded] = state;
      return;
    }
    const fallback = this.next(this.#fallback[parent] as number, byte);
    this.#fallback[state] = fallback;
    if (this.matchLength[state] === 0) this.matchLength[state] = this.matchLength[fallback] as number;
  }

  #child(state: number, byte: number): number {
    let low = this.#firstChild[state] as number;
    let high = this.#firstChild[state + 1] as number;
    while (high - low > 2) {
      const middle = (low + high) >>> 1;
      if ((this.#label[middle] as number) > byte) high = middle;
      else low = middle;
    }
    for (; low < high; low++) if (this.#label[low] === byte) return low;
    return 0;
  }
}
