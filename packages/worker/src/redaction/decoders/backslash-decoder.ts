import type { ByteSink } from "../matcher.ts";
import {
  EscapeDecoder,
  encodeCodePoint,
  hexValue,
  INCOMPLETE,
  INVALID,
  singleByte,
} from "./escape-decoder.ts";

export const BACKSLASH = 92;

const code = (character: string) => character.charCodeAt(0);
const [lowerX, lowerU, upperU] = [code("x"), code("u"), code("U")];

const controls = new Map(
  Object.entries({ a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, e: 27, E: 27 }).map(([letter, value]) => [
    code(letter),
    value,
  ]),
);

/**
 * Decodes the backslash escapes of JSON, of Python's `repr`, and of shells (`$'…'`, `"…"` and `\ ` outside of quotes). A
 * backslash before any other character represents that character.
 */
export class BackslashDecoder extends EscapeDecoder {
  readonly #numbersAre: "bytes" | "characters";

  /**
   * In a shell and in Python's bytes, `\xe4` and `\344` are bytes of the encoded text. In Python's strings, they are
   * characters.
   */
  constructor(sink: ByteSink, { numbersAre = "bytes" }: { numbersAre?: "bytes" | "characters" } = {}) {
    super(BACKSLASH, sink);
    this.#numbersAre = numbersAre;
  }

  protected decode(): number {
    if (this.length === 1) return INCOMPLETE;
    const kind = this.sequence[1] as number;
    if (kind === lowerX) return this.#decodeNumber({ from: 2, base: 16, maxDigits: 2 });
    if (kind >= 48 && kind <= 55) return this.#decodeNumber({ from: 1, base: 8, maxDigits: 3 });
    if (kind === lowerU) return this.#decodeCodeUnits();
    if (kind === upperU) return this.#decodeCodePoint();
    if (kind > 255) return INVALID;
    this.decoded = singleByte(controls.get(kind) ?? kind);
    return 2;
  }

  #decodeNumber({ from, base, maxDigits }: { from: number; base: number; maxDigits: number }): number {
    let value = 0;
    let index = from;
    for (; index < from + maxDigits; index++) {
      if (index === this.length) return INCOMPLETE;
      const digit = hexValue(this.sequence[index] as number);
      if (digit < 0 || digit >= base) break;
      value = value * base + digit;
    }
    if (index === from) return INVALID;
    this.decoded = this.#numbersAre === "bytes" ? singleByte(value & 255) : encodeCodePoint(value);
    return index;
  }

  /** Decodes `\uHHHH`. Two of them can be a surrogate pair. */
  #decodeCodeUnits(): number {
    const high = this.#hexNumber(2, 4);
    if (high < 0) return high === INVALID ? INVALID : INCOMPLETE;
    this.decoded = encodeCodePoint(high);
    if (high < 0xd800 || high > 0xdbff) return 6;
    if (this.length === 6) return INCOMPLETE;
    if (this.sequence[6] !== BACKSLASH) return 6;
    if (this.length === 7) return INCOMPLETE;
    if (this.sequence[7] !== lowerU) return 6;
    const low = this.#hexNumber(8, 4);
    if (low < 0) return low === INVALID ? 6 : INCOMPLETE;
    if (low < 0xdc00 || low > 0xdfff) return 6;
    this.decoded = encodeCodePoint(0x10000 + (high - 0xd800) * 0x400 + (low - 0xdc00));
    return 12;
  }

  #decodeCodePoint(): number {
    const value = this.#hexNumber(2, 8);
    if (value < 0) return value === INVALID ? INVALID : INCOMPLETE;
    if (value > 0x10ffff) return INVALID;
    this.decoded = encodeCodePoint(value);
    return 10;
  }

  /** Returns the number with exactly this many digits, INVALID, or another negative number if digits are missing. */
  #hexNumber(from: number, digits: number): number {
    let value = 0;
    for (let index = from; index < from + digits; index++) {
      if (index === this.length) return -2;
      const digit = hexValue(this.sequence[index] as number);
      if (digit < 0) return INVALID;
      value = value * 16 + digit;
    }
    return value;
  }
}
