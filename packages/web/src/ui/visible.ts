/**
 * What agents, commands and files wrote is text, but some letters hide, reorder or overprint what stands around them:
 * code that reads one way and runs another. Those are spelled out.
 */
const hidden = new RegExp(
  [
    // Controls, but for tabs and line ends.
    "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f]",
    // Directions of writing, separators of lines, what has no width, and letters of tags.
    "[\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u2069\\ufeff\\ufff9-\\ufffb]",
    "[\\u{e0000}-\\u{e007f}]",
  ].join("|"),
  "gu",
);
/** Marks that pile up on one letter reach into the lines around it. No language needs more than a few. */
const piles = /(\p{M}{3})\p{M}+/gu;

/** The text with such letters spelled out. Line ends of other systems are left out: they are no news in every line. */
export function visible(text: string): string {
  return text
    .replace(/\r(?=\n|$)/g, "")
    .replace(
      hidden,
      (letter) => `⟨U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`,
    )
    .replace(piles, "$1");
}

/** The same in one line. */
export function visibleLine(text: string): string {
  return visible(text).replaceAll(/\s+/g, " ").trim();
}
