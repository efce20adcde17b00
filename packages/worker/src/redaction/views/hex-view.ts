import { type Automaton, folded } from "../automaton.ts";
import type { ByteWindow } from "../byte-window.ts";
import { hexValue } from "../decoders/escape-decoder.ts";
import type { SpanList } from "../span-list.ts";
import { DigitGap } from "./digit-gap.ts";
import type { View } from "./view.ts";

/** Shorter secrets have so few hex digits that they could occur in other numbers. */
const MIN_BYTES = 4;
/** Tools separate bytes or groups of bytes like this. Plus and minus are also the markers in a patch. */
const SEPARATORS = " \t,:|+-";

/** The value of each hex digit, or -1. */
const digits = Int8Array.from({ length: 256 }, (_, byte) => hexValue(byte));

/**
 * Reads hex digits, possibly separated and broken into lines. A byte can start at any digit, so the digits are decoded
 * from even and from odd digits on.
 */
export class HexView implements View {
  readonly #automaton: Automaton;
  readonly #spans: SpanList;
  readonly #gap = new DigitGap(SEPARATORS);
  readonly #states = new Uint32Array(2);
  /** The positions of the last digits, as a ring buffer. */
  readonly #positions: Float64Array;
  /** The first digits of the bytes with which patterns start. */
  readonly #firstDigits: ReadonlySet<number>;
  #byte = 0;
  /** The number of digits since the start of the text. */
  #count = 0;
  #runLength = 0;

  constructor(automaton: Automaton, spans: SpanList) {
    this.#automaton = automaton;
    this.#spans = spans;
    this.#positions = new Float64Array(2 ** Math.ceil(Math.log2(automaton.maxLength * 2 + 1)));
    const first = [...folded.keys()].filter((byte) => automaton.firstBytes.has(folded[byte] as number));
    this.#firstDigits = new Set(first.map((byte) => byte >> 4));
  }

  scan({ bytes, base, end }: ByteWindow, from: number) {
    const gap = this.#gap;
    for (let position = from; position < end; position++) {
      const byte = bytes[position - base] as number;
      const digit = digits[byte] as number;
      if (digit >= 0) {
        if (gap.isOpen) gap.close();
        this.#push(digit, position);
      } else if (this.#runLength > 0 && !gap.accept(byte)) this.#endRun();
    }
  }

  end() {}

  openFrom(): number {
    if (this.#runLength === 0) return Number.POSITIVE_INFINITY;
    const last = this.#count - 1;
    let open = this.#firstDigits.has(this.#byte & 15) ? this.#positionOf(last) : Number.POSITIVE_INFINITY;
    for (let phase = 0; phase < 2; phase++) {
      const state = this.#states[phase] as number;
      if (state === 0) continue;
      // The last byte of this phase ended at the last digit or at the one before it.
      const lastOfPhase = (last & 1) === phase ? last : last - 1;
      const depth = this.#automaton.depth[state] as number;
      open = Math.min(open, this.#positionOf(lastOfPhase - 2 * depth + 1));
    }
    return open;
  }

  reset() {
    this.#endRun();
    this.#count = 0;
  }

  #endRun() {
    this.#runLength = 0;
    this.#states.fill(0);
    this.#gap.close();
  }

  #push(digit: number, position: number) {
    this.#byte = ((this.#byte << 4) | digit) & 255;
    const index = this.#count++;
    this.#positions[index & (this.#positions.length - 1)] = position;
    if (this.#runLength++ === 0) return;
    const automaton = this.#automaton;
    const phase = index & 1;
    const state = automaton.next(this.#states[phase] as number, folded[this.#byte] as number);
    this.#states[phase] = state;
    const length = automaton.matchLength[state] as number;
    if (length >= MIN_BYTES) this.#spans.add(this.#positionOf(index - 2 * length + 1), position + 1);
  }

  #positionOf(digit: number): number {
    return this.#positions[digit & (this.#positions.length - 1)] as number;
  }
}
