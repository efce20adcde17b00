const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|^\p{Emoji_Presentation}|\ufe0f/u;
const NONE = /^[\p{M}\u200c\u200d]+$/u;
// biome-ignore lint/suspicious/noControlCharactersInRegex: our own colours have no width
const COLOURS = /\x1b\[\d+m/g;
const PLAIN = /^[\x20-\x7e]*$/;

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** How many columns a terminal needs for a line. */
export function widthOf(line: string): number {
  const text = line.replace(COLOURS, "");
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += widthOfOne(segment);
  return width;
}

function widthOfOne(grapheme: string): number {
  if (NONE.test(grapheme)) return 0;
  return WIDE.test(grapheme) ? 2 : 1;
}

/** At most so many columns, with a sign where something was cut. The line must have no colours. */
export function cut(line: string, columns: number): string {
  if (widthOf(line) <= columns) return line;
  let kept = "";
  let width = 0;
  for (const { segment } of graphemes.segment(line)) {
    width += widthOfOne(segment);
    if (width > columns - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

export function padded(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - widthOf(text)));
}

/** Lines of at most so many columns, broken between words where there are some. Colours are kept whole. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ").flatMap((each) => pieces(each, columns))) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (widthOf(longer) <= columns || line === "") line = longer;
    else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, line];
}

/** A word that is wider than the line breaks anywhere. One with colours stays: to cut it would cut them. */
function pieces(word: string, columns: number): string[] {
  if (widthOf(word) <= columns || word.includes("\x1b")) return [word];
  const parts = [""];
  let width = 0;
  for (const { segment } of graphemes.segment(word)) {
    const more = widthOfOne(segment);
    if (width + more > columns) {
      parts.push("");
      width = 0;
    }
    parts[parts.length - 1] += segment;
    width += more;
  }
  return parts;
}
