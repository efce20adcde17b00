import type { Redactor, StreamRedactor } from "../redaction/redact.ts";
import { toStorableText } from "./storable-text.ts";

/** Text that arrives within this time is sent in one call. This saves calls, and readers notice no difference. */
const BATCH_MS = 40;
/** The maximum length of one delta. */
const DELTA_CHARACTERS = 6_000;

interface DeltaStreamOptions {
  redactor: Redactor;
  send(text: string): void;
}

/** Sends the message that the agent is writing, redacted and in small batches, until the message is complete. */
export class DeltaStream {
  readonly #options: DeltaStreamOptions;
  #redactor: StreamRedactor;
  #pending = "";
  #timer: NodeJS.Timeout | undefined;

  constructor(options: DeltaStreamOptions) {
    this.#options = options;
    this.#redactor = options.redactor.stream();
  }

  push(text: string) {
    this.#pending += this.#redactor.push(text);
    this.#timer ??= setTimeout(() => this.#flush(), BATCH_MS);
  }

  /** Drops pending text, because the next event contains the complete message. */
  reset() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#pending = "";
    this.#redactor = this.#options.redactor.stream();
  }

  #flush() {
    this.#timer = undefined;
    // The first half of a surrogate pair waits for the second.
    const end = this.#pending.search(/[\ud800-\udbff]?$/);
    const text = toStorableText(this.#pending.slice(0, end));
    this.#pending = this.#pending.slice(end);
    for (let start = 0; start < text.length; ) {
      const delta = text.slice(start, start + DELTA_CHARACTERS).replace(/[\ud800-\udbff]$/, "");
      this.#options.send(delta);
      start += delta.length;
    }
  }
}
