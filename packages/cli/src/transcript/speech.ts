import { harmless } from "../terminal/harmless.ts";

/**
 * Words of the agent as they come. Whole lines are handed out at once; when the message stands in the log, only what is
 * missing of it. Deltas are best effort: where some were lost, the whole message is told again.
 */
export class Speech {
  #heard = "";
  #told = 0;

  /** Lines that are complete with this piece. */
  hear(delta: string): string[] {
    // Empty lines at the beginning would be all that stands beside the mark.
    this.#heard += this.#heard === "" ? delta.replace(/^\n+/, "") : delta;
    const end = this.#heard.lastIndexOf("\n") + 1;
    const lines = end > this.#told ? split(this.#heard.slice(this.#told, end - 1)) : [];
    this.#told = Math.max(this.#told, end);
    return lines;
  }

  /** The line that is still being spoken. */
  get open(): string {
    return this.#heard.slice(this.#told);
  }

  /** Whether anything of the current message was told. */
  get isBegun(): boolean {
    return this.#told > 0;
  }

  /** The message as it stands in the log. */
  settle(message: string): { lines: string[]; isAnew: boolean } {
    const text = message.replace(/^\n+/, "");
    const told = this.#heard.slice(0, this.#told);
    const isAnew = !text.startsWith(told);
    this.forget();
    const rest = isAnew ? text : text.slice(told.length);
    return { lines: rest === "" ? [] : split(rest.replace(/\n+$/, "")), isAnew: isAnew && told !== "" };
  }

  /** What was heard will not be said: the attempt was lost. */
  forget(): void {
    this.#heard = "";
    this.#told = 0;
  }
}

function split(text: string): string[] {
  return harmless(text).split("\n");
}
