import type { Style } from "../terminal/style.ts";
import { wrap } from "../terminal/width.ts";

/** Agents speak Markdown. Line by line, so that words can be shown as they come; the text must be harmless already. */
export class Markdown {
  readonly #style: Style;
  readonly #columns: number;
  #isCode = false;

  constructor(style: Style, columns: number) {
    this.#style = style;
    this.#columns = columns;
  }

  /** The lines of the terminal for one line of the text. */
  line(text: string): string[] {
    const isFence = /^\s*(```|~~~)/.test(text);
    if (isFence) this.#isCode = !this.#isCode;
    // Without colours the marks are all that tells code from words, so they stay.
    if (isFence) return this.#style.isOn ? [] : [text];
    if (this.#isCode) return [this.#style.isOn ? `  ${this.#style.cyan(text)}` : text];
    const [, indent = "", mark = "", rest = ""] = /^(\s*)([-*+] |\d+[.)] |> |#{1,6} )?(.*)$/.exec(text) ?? [];
    const isHeading = mark.startsWith("#");
    const sign = this.#style.isOn ? (isHeading ? "" : mark.replace(/^[-*+]/, "•")) : mark;
    const words = isHeading ? this.#style.bold(rest) : this.#spans(rest);
    const hang = indent + " ".repeat(sign.length);
    if (!Number.isFinite(this.#columns)) return [indent + sign + words];
    const lines = wrap(words, Math.max(10, this.#columns - hang.length));
    return lines.map((line, index) => (index === 0 ? indent + sign : hang) + line);
  }

  #spans(text: string): string {
    const { isOn, bold, cyan, underline } = this.#style;
    if (!isOn) return text;
    return text
      .split(/(`[^`]+`)/)
      .map((part, index) => {
        if (index % 2 === 1) return eachWord(part.slice(1, -1), cyan);
        return part
          .replace(/\*\*([^*]+)\*\*/g, (_, inner: string) => eachWord(inner, bold))
          .replace(
            /\[([^\][]+)\]\((https?:[^()\s]+)\)/g,
            (_, label: string, url: string) => `${label} (${underline(url)})`,
          );
      })
      .join("");
  }
}

/** A colour that ends with each word survives a break between words. */
function eachWord(text: string, paint: (text: string) => string): string {
  return text
    .split(" ")
    .map((word) => paint(word))
    .join(" ");
}
