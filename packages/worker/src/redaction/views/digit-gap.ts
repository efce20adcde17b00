const [lineFeed, carriageReturn, tab, space, backslash] = [10, 13, 9, 32, 92];
const [letterN, letterR] = [110, 114];
/** Encoded text may be broken into lines and indented. Longer gaps end it. */
const MAX_GAP = 80;

/**
 * Recognizes the gaps in base64 or hex digits: line breaks with indentation, also as `\n` in a string. In hex, the bytes
 * can also have separators.
 */
export class DigitGap {
  readonly #separators: ReadonlySet<number>;
  #length = 0;
  #hasLineBreak = false;
  #isEscape = false;

  constructor(separators = "") {
    this.#separators = new Set(Buffer.from(separators));
  }

  /** Returns whether the byte is part of a gap. Call this for each byte that is not a digit, and if `isEscape` is true. */
  accept(byte: number): boolean {
    const isEscape = this.#isEscape;
    this.#isEscape = byte === backslash;
    const isLineBreak =
      byte === lineFeed || byte === carriageReturn || (isEscape && (byte === letterN || byte === letterR));
    this.#hasLineBreak ||= isLineBreak;
    this.#length++;
    if (this.#length > MAX_GAP) return false;
    if (isLineBreak || byte === backslash || this.#separators.has(byte)) return true;
    return this.#hasLineBreak && (byte === space || byte === tab);
  }

  /** Whether the last byte was a backslash, so that a letter may be part of the gap. */
  get isEscape(): boolean {
    return this.#isEscape;
  }

  get isOpen(): boolean {
    return this.#length > 0;
  }

  /** Call this for each digit after a gap. */
  close() {
    this.#length = 0;
    this.#hasLineBreak = false;
    this.#isEscape = false;
  }
}
