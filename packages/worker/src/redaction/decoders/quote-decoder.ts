import type { ByteSink } from "../matcher.ts";
import { EscapeDecoder, INCOMPLETE, INVALID } from "./escape-decoder.ts";

export const QUOTE = 39;

/** How shells and Python's `shlex.quote` write a single quote inside single quotes. */
const sequences = [`'\\''`, `'"'"'`].map((text) => Buffer.from(text));

/** Decodes single-quoted shell words. */
export class QuoteDecoder extends EscapeDecoder {
  constructor(sink: ByteSink) {
    super(QUOTE, sink);
    this.decoded = [QUOTE];
  }

  protected decode(): number {
    for (const sequence of sequences) {
      if (!this.#startsLike(sequence)) continue;
      return this.length < sequence.length ? INCOMPLETE : sequence.length;
    }
    return INVALID;
  }

  #startsLike(sequence: Buffer): boolean {
    for (let index = 1; index < Math.min(this.length, sequence.length); index++)
      if (this.sequence[index] !== sequence[index]) return false;
    return true;
  }
}
