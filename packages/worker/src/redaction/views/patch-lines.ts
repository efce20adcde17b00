import type { ByteWindow } from "../byte-window.ts";

const lineFeed = 10;
const markers = new Set(Buffer.from("+- "));

interface LineReader {
  /** Reads a part of a line's content or its line break. */
  readContent(window: ByteWindow, from: number, to: number): void;
  /** Called for a line without a marker. */
  skipLine(): void;
}

/** Finds the lines of a patch's hunks, each of which starts with a marker, and passes them on without it. */
export class PatchLines {
  #isLineStart = true;
  #isSkipping = false;

  read(window: ByteWindow, from: number, reader: LineReader) {
    for (let position = from; position < window.end; ) {
      const first = window.bytes[position - window.base] as number;
      if (this.#isLineStart && first !== lineFeed) {
        this.#isLineStart = false;
        this.#isSkipping = !markers.has(first);
        if (this.#isSkipping) reader.skipLine();
        else position++;
        continue;
      }
      const lineBreak = window.indexOf(lineFeed, position);
      const end = lineBreak < 0 ? window.end : lineBreak + 1;
      if (!this.#isSkipping) reader.readContent(window, position, end);
      this.#isLineStart = lineBreak >= 0;
      this.#isSkipping &&= lineBreak < 0;
      position = end;
    }
  }

  reset() {
    this.#isLineStart = true;
    this.#isSkipping = false;
  }
}
