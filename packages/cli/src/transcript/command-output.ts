import { harmless } from "../terminal/harmless.ts";

/** What one command has printed so far, of which the last lines are kept. */
export class CommandOutput {
  readonly #most: number;
  #lines: string[] = [];
  #open = "";
  #dropped = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Takes a piece, and answers the lines that it completed. */
  add(text: string): string[] {
    const lines = harmless(this.#open + text).split("\n");
    this.#open = lines.pop() ?? "";
    this.#keep(lines);
    return lines;
  }

  /** The last words, where no line break ended them. */
  close(): string[] {
    const rest = this.#open === "" ? [] : [this.#open];
    this.#open = "";
    this.#keep(rest);
    return rest;
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  /** How many lines came before those. */
  get dropped(): number {
    return this.#dropped;
  }

  get last(): string {
    return this.#open.trim() || (this.#lines.findLast((line) => line.trim() !== "") ?? "");
  }

  #keep(lines: string[]): void {
    const all = [...this.#lines, ...lines];
    this.#lines = all.slice(-this.#most);
    this.#dropped += all.length - this.#lines.length;
  }
}
