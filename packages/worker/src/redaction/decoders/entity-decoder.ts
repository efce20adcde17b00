import type { ByteSink } from "../matcher.ts";
import { EscapeDecoder, encodeCodePoint, INCOMPLETE, INVALID } from "./escape-decoder.ts";

export const AMPERSAND = 38;
const SEMICOLON = 59;
/** The length of `&#x10FFFF;`, with room for leading zeros. */
const MAX_LENGTH = 12;

const named: Record<string, number> = { amp: 38, lt: 60, gt: 62, quot: 34, apos: 39 };

/** Decodes HTML and XML entities: numeric ones, and those that every encoder uses for `&`, `<`, `>` and quotes. */
export class EntityDecoder extends EscapeDecoder {
  constructor(sink: ByteSink) {
    super(AMPERSAND, sink);
  }

  protected decode(): number {
    const last = this.sequence[this.length - 1] as number;
    if (this.length === 1) return INCOMPLETE;
    if (last !== SEMICOLON) return this.length < MAX_LENGTH && isNamePart(last) ? INCOMPLETE : INVALID;
    const code = codePointOf(String.fromCharCode(...this.sequence.subarray(1, this.length - 1)));
    if (code === undefined || code > 0x10ffff) return INVALID;
    this.decoded = encodeCodePoint(code);
    return this.length;
  }
}

function isNamePart(byte: number): boolean {
  const letter = byte | 32;
  return (byte >= 48 && byte <= 57) || (letter >= 97 && letter <= 122 && byte < 128) || byte === 35;
}

function codePointOf(name: string): number | undefined {
  if (/^#\d+$/.test(name)) return Number(name.slice(1));
  if (/^#x[0-9a-f]+$/i.test(name)) return Number.parseInt(name.slice(2), 16);
  return named[name.toLowerCase()];
}
