/**
 * Text of agents, commands and files goes to a terminal that obeys it: it could rename the window, fill the clipboard,
 * hide lines or make one name look like another. Sequences are taken out; what else would not print becomes visible.
 * Every pattern stops where another sequence could begin, so that hostile text costs no more time than other text.
 */
const SEQUENCES = new RegExp(
  [
    // CSI: colours, cursor, modes.
    "(?:\\x1b\\[|\\x9b)[0-?]*[ -/]*[@-~]",
    // OSC, DCS, SOS, PM, APC up to their end: titles, links, clipboard.
    "(?:\\x1b[\\]PX^_]|[\\x90\\x98\\x9d-\\x9f])[^\\x07\\x1b\\x80-\\x9f]*(?:\\x07|\\x1b\\\\|\\x9c)",
    // Everything short: character sets, reset.
    "\\x1b[ -/]*[0-OQ-WYZ\\\\`-~]",
  ].join("|"),
  "g",
);

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f]/g;
/** C1 controls, directions of writing, separators of lines, what has no width, and letters of tags. */
const UNSEEN =
  /[\u0080-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** For a terminal: may have lines and tabs. */
export function harmless(text: string): string {
  return text
    .replace(SEQUENCES, "")
    .replace(/\r\n?/g, "\n")
    .replace(CONTROLS, (char) => String.fromCodePoint(char === "\x7f" ? 0x2421 : 0x2400 + char.charCodeAt(0)))
    .replace(UNSEEN, (char) => `<U+${hex(char).padStart(4, "0")}>`);
}

/** For one line of a terminal. */
export function harmlessLine(text: string): string {
  return harmless(text).replaceAll(/\s+/g, " ").trim();
}

/** JSON of the same value that no terminal obeys. */
export function harmlessJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent)
    .replace(/[\x7f]/g, "\\u007f")
    .replace(UNSEEN, escaped);
}

function escaped(char: string): string {
  return Array.from({ length: char.length }, (_, index) => {
    return `\\u${char.charCodeAt(index).toString(16).padStart(4, "0")}`;
  }).join("");
}

function hex(char: string): string {
  return (char.codePointAt(0) ?? 0).toString(16).toUpperCase();
}
