import type { ByteWindow } from "../byte-window.ts";

/**
 * One way to read a text. A view decodes the text and adds the secrets that it finds to a SpanList. What it finds must
 * not depend on how the text is divided into chunks.
 */
export interface View {
  /** Reads the bytes from a position to the end of the window. */
  scan(window: ByteWindow, from: number): void;
  /** Reads what `scan` has postponed, because no more bytes follow. */
  end(window: ByteWindow): void;
  /**
   * Returns the first position that may belong to an unfinished match, or infinity. The bytes from there on remain in
   * the window.
   */
  openFrom(): number;
  /** Prepares the view for another text. */
  reset(): void;
}
