import { sanitize } from "../terminal/sanitize.ts";

/** Collects a command's output, keeping only the last `maxLines` lines. */
export class CommandOutput {
  readonly #maxLines: number;
  #lines: string[] = [];
  #partialLine = "";
  #dropped = 0;

  constructor(maxLines: number) {
    this.#maxLines = maxLines;
  }

  /** Appends output and returns the lines that it completes. */
  add(text: string): string[] {
    const lines = sanitize(this.#partialLine + text).split("\n");
    this.#partialLine = lines.pop() ?? "";
    this.#keep(lines);
    return lines;
  }

  /** Ends the output. Returns the last line if it has no line break. */
  close(): string[] {
    const rest = this.#partialLine === "" ? [] : [this.#partialLine];
    this.#partialLine = "";
    this.#keep(rest);
    return rest;
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  /** The number of earlier lines that were dropped. */
  get dropped(): number {
    return this.#dropped;
  }

  get last(): string {
    return this.#partialLine.trim() || (this.#lines.findLast((line) => line.trim() !== "") ?? "");
  }

  #keep(lines: string[]): void {
    const all = [...this.#lines, ...lines];
    this.#lines = all.slice(-this.#maxLines);
    this.#dropped += all.length - this.#lines.length;
  }
}
