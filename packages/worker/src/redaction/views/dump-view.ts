import type { Automaton } from "../automaton.ts";
import type { ByteWindow } from "../byte-window.ts";
import { Matcher } from "../matcher.ts";
import type { SpanList } from "../span-list.ts";
import { canBeDumpLine, type DumpLine, type DumpWord, MAX_DUMP_LINE, parseDumpLine } from "./dump-line.ts";
import type { View } from "./view.ts";

/** Shorter secrets have so few digits that they could occur in other numbers. */
const MIN_BYTES = 4;
const lineFeed = 10;

/** Returns the bytes that a group of digits represents, or undefined if a dump of this kind has no such group. */
type WordDecoder = (digits: string) => number[] | undefined;

const wordDecoders: WordDecoder[] = [
  // `xxd`, `hexdump -C`, `od -t x1`
  (digits) => (digits.length % 2 === 0 ? [...Buffer.from(digits, "hex")] : undefined),
  // `hexdump`, `od -x`, `od -t x4`: little-endian numbers
  (digits) => ([4, 8, 16].includes(digits.length) ? [...Buffer.from(digits, "hex").reverse()] : undefined),
  // `od`: little-endian numbers of two bytes
  (digits) => {
    if (!/^[01][0-7]{5}$/.test(digits)) return undefined;
    const value = Number.parseInt(digits, 8);
    return [value & 255, value >> 8];
  },
  // `od -b`, `hexdump -b`
  (digits) => (/^[0-3][0-7]{2}$/.test(digits) ? [Number.parseInt(digits, 8)] : undefined),
];

/**
 * Reads the lines that `xxd`, `od` and `hexdump` print: an offset, groups of digits or characters, and often the same
 * bytes as text. It reads complete lines. All kinds of dumps are tried at once, each with its own matcher. A match extends
 * over the text at the end of its last line.
 */
export class DumpView implements View {
  readonly #words: { decode: WordDecoder; matcher: Matcher }[];
  readonly #cells: Matcher;
  readonly #matchers: Matcher[];
  #lineStart = 0;
  #position = 0;
  /** Whether the incomplete line cannot be part of a dump. */
  #isOther = false;

  constructor(automaton: Automaton, spans: SpanList) {
    const createMatcher = () => new Matcher(automaton, spans, { minLength: MIN_BYTES });
    this.#words = wordDecoders.map((decode) => ({ decode, matcher: createMatcher() }));
    this.#cells = createMatcher();
    this.#matchers = [this.#cells, ...this.#words.map(({ matcher }) => matcher)];
  }

  scan(window: ByteWindow, from: number) {
    let position = from;
    for (;;) {
      const end = window.indexOf(lineFeed, position);
      if (end < 0) break;
      this.#readLine(window, end);
      position = end + 1;
      this.#lineStart = position;
      this.#isOther = false;
    }
    this.#position = window.end;
    const isCandidate = !this.#isOther && startsLikeDump(window, this.#lineStart, window.end);
    this.#isOther = !isCandidate || !canBeDumpLine(this.#lineText(window, window.end));
  }

  end(window: ByteWindow) {
    this.#readLine(window, window.end);
  }

  openFrom(): number {
    const isOpenLine = !this.#isOther && this.#lineStart < this.#position;
    let open = isOpenLine ? this.#lineStart : Number.POSITIVE_INFINITY;
    for (const matcher of this.#matchers) open = Math.min(open, matcher.openFrom());
    return open;
  }

  reset() {
    this.#resetMatchers();
    this.#lineStart = 0;
    this.#position = 0;
    this.#isOther = false;
  }

  #resetMatchers() {
    for (const matcher of this.#matchers) matcher.reset();
  }

  #lineText(window: ByteWindow, end: number): string {
    const lineStart = this.#lineStart;
    return window.slice(lineStart, Math.min(end, lineStart + MAX_DUMP_LINE + 1)).toString("latin1");
  }

  #readLine(window: ByteWindow, end: number) {
    const length = end - this.#lineStart;
    const isCandidate =
      !this.#isOther && length <= MAX_DUMP_LINE && startsLikeDump(window, this.#lineStart, end);
    const line = isCandidate ? parseDumpLine(this.#lineText(window, end)) : undefined;
    if (line) this.#readDumpLine(line, length);
    else this.#resetMatchers();
  }

  #readDumpLine({ words, cells, hasText }: DumpLine, length: number) {
    const start = this.#lineStart;
    const endOf = (index: number) => start + (hasText ? length : index);
    for (const { decode, matcher } of this.#words) {
      const decoded = decodeAll(words, decode);
      if (decoded.length === 0) matcher.reset();
      for (const { word, bytes } of decoded) {
        for (const byte of bytes) matcher.push(byte, start + word.start, endOf(word.end));
      }
    }
    if (cells.length === 0) this.#cells.reset();
    for (const cell of cells) this.#cells.push(cell.byte, start + cell.start, endOf(cell.end));
  }
}

/** Returns an empty list unless all words of a line can be decoded. */
function decodeAll(words: DumpWord[], decode: WordDecoder): { word: DumpWord; bytes: number[] }[] {
  const decoded: { word: DumpWord; bytes: number[] }[] = [];
  for (const word of words) {
    const bytes = decode(word.digits);
    if (!bytes) return [];
    decoded.push({ word, bytes });
  }
  return decoded;
}

const markers = new Set(Buffer.from("+-"));
const firstBytes = new Set(Buffer.from("0123456789abcdefABCDEF \t"));

/** Rejects most lines of ordinary text quickly. A line that has only begun may still become a dump. */
function startsLikeDump({ bytes, base }: ByteWindow, start: number, end: number): boolean {
  const first = bytes[start - base] as number;
  const index = markers.has(first) ? start + 1 : start;
  return index >= end || firstBytes.has(bytes[index - base] as number);
}
