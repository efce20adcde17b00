/**
 * Characters that make untrusted text unsafe to read. They hide, reorder or overprint the text around them, so that
 * code can appear different from what it does. They are replaced with their code points, such as ⟨U+202E⟩.
 */
const dangerous = new RegExp(
  [
    // Control characters except tab and line feed.
    "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f]",
    // Bidirectional controls, line separators, zero-width characters and tag characters.
    "[\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u2069\\ufeff\\ufff9-\\ufffb]",
    "[\\u{e0000}-\\u{e007f}]",
  ].join("|"),
  "gu",
);
/** Stacked combining marks overlap the lines around them. No language needs more than three per character. */
const stackedMarks = /(\p{M}{3})\p{M}+/gu;

/** Replaces dangerous characters with their code points and drops carriage returns at line ends. */
export function sanitize(text: string): string {
  return text
    .replace(/\r(?=\n|$)/g, "")
    .replace(
      dangerous,
      (letter) => `⟨U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`,
    )
    .replace(stackedMarks, "$1");
}

/** Sanitizes text and joins it into one line. */
export function sanitizeLine(text: string): string {
  return sanitize(text).replaceAll(/\s+/g, " ").trim();
}
