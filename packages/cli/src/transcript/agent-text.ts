import { sanitize } from "../terminal/sanitize.ts";

/**
 * Splits the agent's streamed text into lines.
 *
 * Returns complete lines as soon as they arrive. When the final message arrives, returns only the missing lines.
 * Delivery of deltas is best effort: if some were lost, returns the complete message again.
 */
export class AgentText {
  #received = "";
  #printedLength = 0;

  /** Appends a delta and returns the lines that it completes. */
  append(delta: string): string[] {
    // Skip leading empty lines, so that the first line has text.
    this.#received += this.#received === "" ? delta.replace(/^\n+/, "") : delta;
    const end = this.#received.lastIndexOf("\n") + 1;
    const lines =
      end > this.#printedLength ? splitLines(this.#received.slice(this.#printedLength, end - 1)) : [];
    this.#printedLength = Math.max(this.#printedLength, end);
    return lines;
  }

  /** The last line, if it is still incomplete. */
  get partialLine(): string {
    return this.#received.slice(this.#printedLength);
  }

  /** Whether some lines of the current message were already returned. */
  get hasPrintedLines(): boolean {
    return this.#printedLength > 0;
  }

  /** Processes the final message. Returns the lines that are still missing, or all lines if deltas were lost. */
  complete(message: string): { lines: string[]; isReprinted: boolean } {
    const text = message.replace(/^\n+/, "");
    const printed = this.#received.slice(0, this.#printedLength);
    const isDifferent = !text.startsWith(printed);
    this.reset();
    const rest = isDifferent ? text : text.slice(printed.length);
    return {
      lines: rest === "" ? [] : splitLines(rest.replace(/\n+$/, "")),
      isReprinted: isDifferent && printed !== "",
    };
  }

  /** Discards the received text, because the attempt that produced it was lost. */
  reset(): void {
    this.#received = "";
    this.#printedLength = 0;
  }
}

function splitLines(text: string): string[] {
  return sanitize(text).split("\n");
}
