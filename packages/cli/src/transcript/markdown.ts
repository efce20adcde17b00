import type { Style } from "../terminal/style.ts";
import { wrap } from "../terminal/width.ts";

/** Renders Markdown line by line, so that text can be shown while it streams. The text must already be sanitized. */
export class Markdown {
  readonly #style: Style;
  readonly #columns: number;
  #isCode = false;

  constructor(style: Style, columns: number) {
    this.#style = style;
    this.#columns = columns;
  }

  /** Returns the terminal lines for one line of text. */
  line(text: string): string[] {
    const isFence = /^\s*(```|~~~)/.test(text);
    if (isFence) this.#isCode = !this.#isCode;
    // Without colors, keep the fences, because nothing else marks code.
    if (isFence) return this.#style.isOn ? [] : [text];
    if (this.#isCode) return [this.#style.isOn ? `  ${this.#style.cyan(text)}` : text];
    const [, indent = "", mark = "", rest = ""] = /^(\s*)([-*+] |\d+[.)] |> |#{1,6} )?(.*)$/.exec(text) ?? [];
    const isHeading = mark.startsWith("#");
    const prefix = this.#style.isOn ? (isHeading ? "" : mark.replace(/^[-*+]/, "•")) : mark;
    const content = isHeading ? this.#style.bold(rest) : this.#spans(rest);
    const hang = indent + " ".repeat(prefix.length);
    if (!Number.isFinite(this.#columns)) return [indent + prefix + content];
    const lines = wrap(content, Math.max(10, this.#columns - hang.length));
    return lines.map((line, index) => (index === 0 ? indent + prefix : hang) + line);
  }

  #spans(text: string): string {
    const { isOn, bold, cyan, underline } = this.#style;
    if (!isOn) return text;
    return text
      .split(/(`[^`]+`)/)
      .map((part, index) => {
        if (index % 2 === 1) return paintWords(part.slice(1, -1), cyan);
        return part
          .replace(/\*\*([^*]+)\*\*/g, (_, inner: string) => paintWords(inner, bold))
          .replace(
            /\[([^\][]+)\]\((https?:[^()\s]+)\)/g,
            (_, label: string, url: string) => `${label} (${underline(url)})`,
          );
      })
      .join("");
  }
}

/** Paints each word separately, so that line breaks between words do not split a color. */
function paintWords(text: string, paint: (text: string) => string): string {
  return text
    .split(" ")
    .map((word) => paint(word))
    .join(" ");
}
