import type { ByteWindow } from "../byte-window.ts";
import type { ByteSink, Matcher } from "../matcher.ts";
import type { View } from "./view.ts";

interface EscapeViewOptions {
  /** The byte that starts every escape sequence. */
  trigger: number;
  /** The first of a chain of decoders, which ends with the matcher. */
  decoder: ByteSink;
  matcher: Matcher;
  /** The length of the longest pattern. */
  maxLength: number;
}

/**
 * Reads the text with its escape sequences decoded.
 *
 * Most text has few escape sequences. A secret without any is found by the verbatim view, so this view skips text that is
 * farther from the next escape sequence than the longest pattern. Everything that this view may need before an escape
 * sequence is still in the window, because the verbatim view has the same open match.
 */
export class EscapeView implements View {
  readonly #options: EscapeViewOptions;
  #isAwake = false;
  /** The matcher has read the text up to this position. */
  #position = 0;

  constructor(options: EscapeViewOptions) {
    this.#options = options;
  }

  scan(window: ByteWindow, from: number) {
    const { decoder, matcher, trigger } = this.#options;
    let position = from;
    while (position < window.end) {
      if (!this.#isAwake) {
        position = window.indexOf(trigger, position);
        if (position < 0) return;
        this.#wakeUp(window, position);
      }
      const { bytes, base, end } = window;
      for (; position < end; position++) {
        decoder.push(bytes[position - base] as number, position, position + 1);
        if (decoder.isIdle && matcher.isPlain) {
          this.#isAwake = false;
          position++;
          break;
        }
      }
      this.#position = position;
    }
  }

  end() {
    if (this.#isAwake) this.#options.decoder.flush();
  }

  openFrom(): number {
    return this.#isAwake ? this.#options.decoder.openFrom() : Number.POSITIVE_INFINITY;
  }

  reset() {
    this.#options.decoder.reset();
    this.#isAwake = false;
    this.#position = 0;
  }

  /** Reads the text before an escape sequence. */
  #wakeUp({ bytes, base, first }: ByteWindow, position: number) {
    const { matcher, maxLength } = this.#options;
    const earliest = Math.max(first, position - maxLength);
    if (this.#position < earliest) matcher.reset();
    for (let before = Math.max(this.#position, earliest); before < position; before++)
      matcher.push(bytes[before - base] as number, before, before + 1);
    this.#isAwake = true;
  }
}
