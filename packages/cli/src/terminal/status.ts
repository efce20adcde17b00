import type { Output } from "./output.ts";
import { sanitizeLine } from "./sanitize.ts";
import { truncate } from "./width.ts";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 100;

/** Shows an animated status line at the bottom of the terminal. Writes to stderr. */
export class Status {
  readonly #out: Output;
  readonly #startedAt = Date.now();
  readonly #isEnabled: boolean;
  #text = "";
  #frame = 0;
  #isVisible = false;
  #timer: NodeJS.Timeout | undefined;

  /** With `isDisabled`, shows nothing. Used while past events are printed. */
  constructor(out: Output, { isDisabled = false } = {}) {
    this.#out = out;
    this.#isEnabled = out.isLive && !isDisabled;
  }

  show(text: string): void {
    this.#text = text;
    if (!this.#isEnabled || this.#timer) return;
    this.#timer = setInterval(() => this.#draw(), FRAME_MS).unref();
    this.#draw();
  }

  /** Removes the line so that other text can be printed. The next frame draws it again. */
  clear(): void {
    if (this.#isVisible) process.stderr.write("\r\x1b[K");
    this.#isVisible = false;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.clear();
  }

  #draw(): void {
    const { style, width } = this.#out;
    const seconds = `${Math.round((Date.now() - this.#startedAt) / 1_000)} s`;
    const frame = FRAMES[this.#frame++ % FRAMES.length] as string;
    const text = truncate(sanitizeLine(this.#text), width - seconds.length - 6);
    process.stderr.write(`\r\x1b[K${style.cyan(frame)} ${text} ${style.dim(`(${seconds})`)}`);
    this.#isVisible = true;
  }
}
