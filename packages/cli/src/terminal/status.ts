import { harmlessLine } from "./harmless.ts";
import type { Output } from "./output.ts";
import { cut } from "./width.ts";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 100;

/** The one line at the bottom that moves, on stderr and only where somebody watches. */
export class Status {
  readonly #out: Output;
  readonly #began = Date.now();
  readonly #isMoving: boolean;
  #text = "";
  #frame = 0;
  #isShown = false;
  #timer: NodeJS.Timeout | undefined;

  /** A still one is never shown: what it would tell has happened already. */
  constructor(out: Output, { isStill = false } = {}) {
    this.#out = out;
    this.#isMoving = out.isLive && !isStill;
  }

  show(text: string): void {
    this.#text = text;
    if (!this.#isMoving || this.#timer) return;
    this.#timer = setInterval(() => this.#draw(), FRAME_MS).unref();
    this.#draw();
  }

  /** Takes the line away while something is printed; the next frame brings it back. */
  clear(): void {
    if (this.#isShown) process.stderr.write("\r\x1b[K");
    this.#isShown = false;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.clear();
  }

  #draw(): void {
    const { style, width } = this.#out;
    const seconds = `${Math.round((Date.now() - this.#began) / 1_000)} s`;
    const frame = FRAMES[this.#frame++ % FRAMES.length] as string;
    const text = cut(harmlessLine(this.#text), width - seconds.length - 6);
    process.stderr.write(`\r\x1b[K${style.cyan(frame)} ${text} ${style.dim(`(${seconds})`)}`);
    this.#isShown = true;
  }
}
