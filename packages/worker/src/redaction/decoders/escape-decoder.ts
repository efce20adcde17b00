import type { ByteSink } from "../matcher.ts";

/** Represents the end of the text. It is not a value of a byte, so it never continues an escape sequence. */
const END = 256;
const MAX_SEQUENCE = 16;

/** The sequence is a valid beginning of an escape sequence. */
export const INCOMPLETE = 0;
/** The sequence is not an escape sequence. Its first byte represents itself. */
export const INVALID = -1;

/**
 * Decodes escape sequences, such as `%20` or `\n`, one byte at a time, and passes the bytes on. Everything that is not an
 * escape sequence is passed on unchanged. Decoders can be chained.
 */
export abstract class EscapeDecoder implements ByteSink {
  readonly #trigger: number;
  readonly #sink: ByteSink;
  /** The bytes of an unfinished sequence, with their source positions. */
  protected readonly sequence = new Uint16Array(MAX_SEQUENCE);
  protected length = 0;
  readonly #starts = new Float64Array(MAX_SEQUENCE);
  readonly #ends = new Float64Array(MAX_SEQUENCE);
  /** The bytes that `decode` found. */
  protected decoded: ArrayLike<number> = [];

  /** All escape sequences start with the trigger byte. */
  constructor(trigger: number, sink: ByteSink) {
    this.#trigger = trigger;
    this.#sink = sink;
  }

  /**
   * Decodes the sequence. Sets `decoded` and returns the number of bytes that the escape sequence consists of, which may
   * be fewer than the sequence has, or returns INCOMPLETE or INVALID.
   */
  protected abstract decode(): number;

  get isIdle(): boolean {
    return this.length === 0 && this.#sink.isIdle;
  }

  push(byte: number, start: number, end: number) {
    if (this.length === 0 && byte !== this.#trigger) {
      this.#sink.push(byte, start, end);
      return;
    }
    this.#append(byte, start, end);
    this.#resolve();
  }

  flush() {
    if (this.length > 0) {
      this.#append(END, 0, 0);
      this.#resolve();
    }
    this.#sink.flush();
  }

  reset() {
    this.length = 0;
    this.#sink.reset();
  }

  openFrom(): number {
    const own = this.length > 0 ? (this.#starts[0] as number) : Number.POSITIVE_INFINITY;
    return Math.min(own, this.#sink.openFrom());
  }

  #append(byte: number, start: number, end: number) {
    this.sequence[this.length] = byte;
    this.#starts[this.length] = start;
    this.#ends[this.length] = end;
    this.length++;
  }

  #resolve() {
    while (this.length > 0) {
      const used = this.sequence[0] === this.#trigger ? this.decode() : INVALID;
      if (used === INCOMPLETE) return;
      const start = this.#starts[0] as number;
      if (used === INVALID) {
        const byte = this.sequence[0] as number;
        if (byte !== END) this.#sink.push(byte, start, this.#ends[0] as number);
        this.#drop(1);
        continue;
      }
      const end = this.#ends[used - 1] as number;
      for (let index = 0; index < this.decoded.length; index++)
        this.#sink.push(this.decoded[index] as number, start, end);
      this.#drop(used);
    }
  }

  #drop(count: number) {
    this.length -= count;
    for (let index = 0; index < this.length; index++) {
      this.sequence[index] = this.sequence[index + count] as number;
      this.#starts[index] = this.#starts[index + count] as number;
      this.#ends[index] = this.#ends[index + count] as number;
    }
  }
}

/** Returns the value of a hex digit's byte, or -1. */
export function hexValue(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 && byte < 128 ? letter - 87 : -1;
}

/** The list of each single byte, so that decoding allocates nothing. */
const singleBytes = Array.from({ length: 256 }, (_, byte): ArrayLike<number> => [byte]);

export function singleByte(byte: number): ArrayLike<number> {
  return singleBytes[byte] as ArrayLike<number>;
}

/** Encodes a code point as UTF-8. */
export function encodeCodePoint(code: number): ArrayLike<number> {
  if (code < 0x80) return singleByte(code);
  return code <= 0x10ffff ? Buffer.from(String.fromCodePoint(code)) : [];
}
