import type { ByteWindow } from "../byte-window.ts";
import type { Matcher } from "../matcher.ts";
import { PatchLines } from "./patch-lines.ts";
import type { View } from "./view.ts";

const [lineFeed, carriageReturn] = [10, 13];

/**
 * Reads the text without its line breaks and, in a patch, without the marker at the start of each line. It finds a
 * multi-line secret that was broken into other lines.
 */
export class JoinedLinesView implements View {
  readonly #matcher: Matcher;
  readonly #patchLines: PatchLines | undefined;
  /** Whether the last byte was part of a line break. A second line break in a row ends a match. */
  #isBreak = false;
  #lastByte = 0;

  constructor(matcher: Matcher, { isPatch }: { isPatch: boolean }) {
    this.#matcher = matcher;
    this.#patchLines = isPatch ? new PatchLines() : undefined;
  }

  scan(window: ByteWindow, from: number) {
    if (this.#patchLines) this.#patchLines.read(window, from, this);
    else this.readContent(window, from, window.end);
  }

  readContent({ bytes, base }: ByteWindow, from: number, to: number) {
    const matcher = this.#matcher;
    for (let position = from; position < to; position++) {
      const byte = bytes[position - base] as number;
      if (byte === lineFeed || byte === carriageReturn) {
        const isSecondHalf = byte === lineFeed && this.#lastByte === carriageReturn;
        if (this.#isBreak && !isSecondHalf) matcher.reset();
        this.#isBreak = true;
      } else {
        this.#isBreak = false;
        matcher.push(byte, position, position + 1);
      }
      this.#lastByte = byte;
    }
  }

  skipLine() {
    this.#matcher.reset();
    this.#isBreak = false;
  }

  end() {}

  openFrom(): number {
    return this.#matcher.openFrom();
  }

  reset() {
    this.skipLine();
    this.#patchLines?.reset();
    this.#lastByte = 0;
  }
}
