import stringWidth from "string-width";

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Returns the width of a line in terminal columns. Color sequences have no width. */
export const widthOf = (line: string): number => stringWidth(line);

/** Truncates a line to a number of columns and appends "…". The line must not contain colors. */
export function truncate(line: string, columns: number): string {
  if (widthOf(line) <= columns) return line;
  let kept = "";
  let width = 0;
  for (const { segment } of graphemes.segment(line)) {
    width += widthOf(segment);
    if (width > columns - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

export function padToWidth(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - widthOf(text)));
}

/** Wraps text to a number of columns, between words if possible. Color sequences are never split. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ").flatMap((part) => splitWord(part, columns))) {
    const extended = line === "" ? word : `${line} ${word}`;
    if (widthOf(extended) <= columns || line === "") line = extended;
    else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, line];
}

/** Splits a word that is wider than the line. Does not split a word with colors, because its sequences would break. */
function splitWord(word: string, columns: number): string[] {
  if (widthOf(word) <= columns || word.includes("\x1b")) return [word];
  const parts = [""];
  let width = 0;
  for (const { segment } of graphemes.segment(word)) {
    const segmentWidth = widthOf(segment);
    if (width + segmentWidth > columns) {
      parts.push("");
      width = 0;
    }
    parts[parts.length - 1] += segment;
    width += segmentWidth;
  }
  return parts;
}
