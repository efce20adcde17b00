import type { ByteSink } from "../matcher.ts";
import { EscapeDecoder, hexValue, INCOMPLETE, INVALID, singleByte } from "./escape-decoder.ts";

export const PERCENT = 37;

/** Decodes URL encoding: `%` and two hex digits. */
export class PercentDecoder extends EscapeDecoder {
  constructor(sink: ByteSink) {
    super(PERCENT, sink);
  }

  protected decode(): number {
    if (this.length === 1) return INCOMPLETE;
    const high = hexValue(this.sequence[1] as number);
    if (high < 0) return INVALID;
    if (this.length === 2) return INCOMPLETE;
    const low = hexValue(this.sequence[2] as number);
    if (low < 0) return INVALID;
    this.decoded = singleByte(high * 16 + low);
    return 3;
  }
}
