import { cleanTexts, type Redactor } from "../redact.ts";

const LETTERS = 2_000;

/** The end of what a server wrote besides its messages, without secrets. */
export class LastWords {
  private text = "";
  private readonly clean: ReturnType<typeof cleanTexts>;

  constructor(redactor: Redactor) {
    this.clean = cleanTexts(redactor);
  }

  add(data: Buffer) {
    this.text = (this.text + this.clean.push(data)).slice(-2 * LETTERS);
  }

  /** Whole lines where there are some. */
  read(): string {
    this.text += this.clean.end();
    const text = this.text.trim();
    if (text.length <= LETTERS) return text;
    const end = text.slice(-LETTERS);
    return end.slice(end.indexOf("\n") + 1);
  }
}
