import { type Automaton, folded } from "../automaton.ts";
import type { ByteWindow } from "../byte-window.ts";
import type { SpanList } from "../span-list.ts";
import { DigitGap } from "./digit-gap.ts";
import { PatchLines } from "./patch-lines.ts";
import type { View } from "./view.ts";

/** Shorter secrets have too few base64 digits that do not depend on the neighboring bytes. */
const MIN_BYTES = 5;
/** A digit has 6 bits, so a group of 4 digits has 3 bytes. The first group can start at any of 4 digits. */
const PHASES = 4;

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/** The value of each digit in both alphabets, or -1. */
const digits = new Int8Array(256).fill(-1);
for (const [value, byte] of Buffer.from(alphabet).entries()) digits[byte] = value;
for (const [byte, value] of [
  [45, 62],
  [95, 63],
] as const)
  digits[byte] = value;

/**
 * Reads base64, in the standard and in the URL-safe alphabet, possibly broken into lines. It is not known where the
 * encoded data starts, so the digits are decoded at each of the four possible phases. In a patch, the marker at the start
 * of each line is skipped; it needs a view of its own, because markers are also digits.
 */
export class Base64View implements View {
  readonly #automaton: Automaton;
  readonly #spans: SpanList;
  readonly #patchLines: PatchLines | undefined;
  readonly #gap = new DigitGap();
  readonly #states = new Uint32Array(PHASES);
  /** The number of bits, since the start of the text, at which each phase's last byte ended. */
  readonly #endBits = new Float64Array(PHASES);
  /** The last digits and their positions, as ring buffers. */
  readonly #digits: Uint8Array;
  readonly #positions: Float64Array;
  /** The values of a digit that starts a byte with which a pattern starts. */
  readonly #firstDigits: ReadonlySet<number>;
  /** Fewer digits cannot contain a secret. Most words of ordinary text have fewer. */
  readonly #minDigits: number;
  /** The last bits that were decoded. */
  #bits = 0;
  /** The numbers of digits, since the start of the text, that were read and that were decoded. */
  #count = 0;
  #decoded = 0;
  /** The number of the first digit after the last byte that is neither a digit nor part of a gap. */
  #runStart = 0;

  constructor(automaton: Automaton, spans: SpanList, { isPatch }: { isPatch: boolean }) {
    this.#automaton = automaton;
    this.#spans = spans;
    this.#patchLines = isPatch ? new PatchLines() : undefined;
    this.#minDigits = digitsOf(Math.max(MIN_BYTES, automaton.minLength));
    const size = 2 ** Math.ceil(Math.log2(digitsOf(automaton.maxLength) + this.#minDigits + 2));
    this.#digits = new Uint8Array(size);
    this.#positions = new Float64Array(size);
    this.#firstDigits = new Set(unfold(automaton.firstBytes).map((byte) => byte >> 2));
  }

  scan(window: ByteWindow, from: number) {
    if (this.#patchLines) this.#patchLines.read(window, from, this);
    else this.readContent(window, from, window.end);
  }

  readContent({ bytes, base }: ByteWindow, from: number, to: number) {
    const gap = this.#gap;
    const ringDigits = this.#digits;
    const positions = this.#positions;
    const mask = ringDigits.length - 1;
    for (let position = from; position < to; position++) {
      const byte = bytes[position - base] as number;
      const digit = digits[byte] as number;
      if (digit < 0) {
        if (this.#count > this.#runStart && !gap.accept(byte)) this.#endRun();
      } else if (!gap.isEscape || !gap.accept(byte)) {
        if (gap.isOpen) gap.close();
        const index = this.#count++;
        ringDigits[index & mask] = digit;
        positions[index & mask] = position;
        if (this.#count - this.#runStart >= this.#minDigits) this.#decode();
      }
    }
  }

  skipLine() {
    this.#endRun();
  }

  end() {
    this.#decode();
  }

  openFrom(): number {
    if (this.#count === this.#runStart) return Number.POSITIVE_INFINITY;
    this.#decode();
    let open = this.#firstDigits.has(this.#bits & 63)
      ? this.#positionOf(this.#count - 1)
      : Number.POSITIVE_INFINITY;
    for (let phase = 0; phase < PHASES; phase++) {
      const state = this.#states[phase] as number;
      if (state !== 0) open = Math.min(open, this.#startOf(phase, this.#automaton.depth[state] as number));
    }
    return open;
  }

  reset() {
    this.#endRun();
    this.#patchLines?.reset();
  }

  #endRun() {
    // A run that is too short to contain a secret may still have been decoded at the end of a chunk.
    if (this.#decoded > this.#runStart) this.#states.fill(0);
    this.#runStart = this.#decoded = this.#count;
    if (this.#gap.isOpen) this.#gap.close();
  }

  #decode() {
    const { firstStates } = this.#automaton;
    const states = this.#states;
    for (; this.#decoded < this.#count; this.#decoded++) {
      const index = this.#decoded;
      const bits = ((this.#bits << 6) | (this.#digits[index & (this.#digits.length - 1)] as number)) & 0xffff;
      this.#bits = bits;
      // Every byte has bits from two digits.
      if (index === this.#runStart) continue;
      for (let shift = 4; shift >= 0; shift -= 2) {
        const phase = (index + 1 + (shift >> 1)) & 3;
        const byte = (bits >> shift) & 255;
        if (states[phase] !== 0 || firstStates[byte] !== 0) this.#readByte(byte, phase, shift);
      }
    }
  }

  /** Reads the byte of a phase that ends this many bits before the end of the digit. */
  #readByte(byte: number, phase: number, shift: number) {
    const automaton = this.#automaton;
    const state = automaton.next(this.#states[phase] as number, folded[byte] as number);
    this.#states[phase] = state;
    this.#endBits[phase] = (this.#decoded + 1) * 6 - shift;
    const length = automaton.matchLength[state] as number;
    if (length >= MIN_BYTES)
      this.#spans.add(this.#startOf(phase, length), this.#positionOf(this.#decoded) + 1);
  }

  /**
   * Returns the position of the first digit that belongs only to the last bytes of a phase. The digit before it may
   * contain some of their bits too, but it is already passed on when they are recognized.
   */
  #startOf(phase: number, length: number): number {
    return this.#positionOf(Math.ceil(((this.#endBits[phase] as number) - length * 8) / 6));
  }

  #positionOf(digit: number): number {
    return this.#positions[digit & (this.#positions.length - 1)] as number;
  }
}

function digitsOf(bytes: number): number {
  return Math.ceil((bytes * 8) / 6);
}

/** Returns all bytes that are folded to one of the given bytes. */
function unfold(bytes: ReadonlySet<number>): number[] {
  return [...folded.keys()].filter((byte) => bytes.has(folded[byte] as number));
}
