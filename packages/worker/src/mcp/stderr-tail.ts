import { createTextRedactor, type Redactor } from "../redaction/redact.ts";

const MAX_CHARACTERS = 2_000;

/** Retains the redacted end of the output that a server writes outside the protocol. */
export class StderrTail {
  #text = "";
  readonly #redactor: ReturnType<typeof createTextRedactor>;

  constructor(redactor: Redactor) {
    this.#redactor = createTextRedactor(redactor);
  }

  add(data: Buffer) {
    this.#text = (this.#text + this.#redactor.push(data)).slice(-2 * MAX_CHARACTERS);
  }

  /** Returns the tail, starting at a line break if possible. Call once. */
  read(): string {
    this.#text += this.#redactor.end();
    const text = this.#text.trim();
    if (text.length <= MAX_CHARACTERS) return text;
    const end = text.slice(-MAX_CHARACTERS);
    return end.slice(end.indexOf("\n") + 1);
  }
}
