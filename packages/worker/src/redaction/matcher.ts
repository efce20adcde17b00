import { type Automaton, folded } from "./automaton.ts";
import type { SpanList } from "./span-list.ts";

/** Receives decoded bytes. Each has the position of the source text that it was decoded from. */
export interface ByteSink {
  push(byte: number, start: number, end: number): void;
  /** Resolves what is pending, because no more bytes follow. */
  flush(): void;
  /** Forgets everything that was pushed. */
  reset(): void;
  /** Whether no byte is pending. */
  readonly isIdle: boolean;
  /** Returns the first source position that may belong to an unfinished match, or infinity. */
  openFrom(): number;
}

/** Finds secrets in decoded bytes and adds the spans of their source text to a list. */
export class Matcher implements ByteSink {
  readonly isIdle = true;
  readonly #automaton: Automaton;
  readonly #spans: SpanList;
  readonly #minLength: number;
  #state = 0;
  /** The source positions of the last bytes, as a ring buffer. It is allocated when the first byte of a secret occurs. */
  #starts: Float64Array | undefined;
  #count = 0;
  /** The number of bytes since the last one whose source text was longer than one byte. */
  #plainBytes = 0;

  constructor(automaton: Automaton, spans: SpanList, { minLength = 1 } = {}) {
    this.#automaton = automaton;
    this.#spans = spans;
    this.#minLength = minLength;
  }

  /** Whether the unfinished match, if any, consists of bytes that stand for themselves in the source text. */
  get isPlain(): boolean {
    return (this.#automaton.depth[this.#state] as number) <= this.#plainBytes;
  }

  push(byte: number, start: number, end: number) {
    this.#plainBytes = end - start === 1 ? this.#plainBytes + 1 : 0;
    const { matchLength, maxLength } = this.#automaton;
    this.#state = this.#automaton.next(this.#state, folded[byte] as number);
    if (this.#state === 0) return;
    this.#starts ??= new Float64Array(2 ** Math.ceil(Math.log2(maxLength)));
    const mask = this.#starts.length - 1;
    this.#starts[this.#count & mask] = start;
    this.#count = (this.#count + 1) & mask;
    const length = matchLength[this.#state] as number;
    if (length >= this.#minLength && length > 0) {
      const first = this.#starts[(this.#count - length) & mask] as number;
      this.#spans.add(first, end);
    }
  }

  flush() {}

  reset() {
    this.#state = 0;
    this.#plainBytes = 0;
  }

  openFrom(): number {
    if (this.#state === 0 || !this.#starts) return Number.POSITIVE_INFINITY;
    const depth = this.#automaton.depth[this.#state] as number;
    return this.#starts[(this.#count - depth) & (this.#starts.length - 1)] as number;
  }
}
