/**
 * Makes untrusted text safe to print on a terminal.
 *
 * Text from agents, commands and files can contain escape sequences that rename the window, write to the clipboard, hide
 * lines, or make one name look like another. This module removes escape sequences and makes other invisible characters
 * visible. Every pattern stops where another sequence could start, so hostile text is processed in linear
 * time.
 */
const SEQUENCES = new RegExp(
  [
    // CSI: colors, cursor, modes.
    "(?:\\x1b\\[|\\x9b)[0-?]*[ -/]*[@-~]",
    // OSC, DCS, SOS, PM and APC up to their terminator: titles, links, clipboard.
    "(?:\\x1b[\\]PX^_]|[\\x90\\x98\\x9d-\\x9f])[^\\x07\\x1b\\x80-\\x9f]*(?:\\x07|\\x1b\\\\|\\x9c)",
    // Short sequences: character sets, reset.
    "\\x1b[ -/]*[0-OQ-WYZ\\\\`-~]",
  ].join("|"),
  "g",
);

// biome-ignore lint/suspicious/noControlCharactersInRegex: this pattern matches control characters
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f]/g;
/** Matches C1 controls, bidirectional controls, line separators, zero-width characters and tag characters. */
const INVISIBLE =
  /[\u0080-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** Sanitizes text. Preserves line breaks and tabs. */
export function sanitize(text: string): string {
  return text
    .replace(SEQUENCES, "")
    .replace(/\r\n?/g, "\n")
    .replace(CONTROLS, (char) => String.fromCodePoint(char === "\x7f" ? 0x2421 : 0x2400 + char.charCodeAt(0)))
    .replace(INVISIBLE, (char) => `<U+${hex(char).padStart(4, "0")}>`);
}

/** Sanitizes text and joins it into a single line. */
export function sanitizeLine(text: string): string {
  return sanitize(text).replaceAll(/\s+/g, " ").trim();
}

/** Converts a value to JSON and escapes control characters and invisible characters. */
export function sanitizeJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent)
    .replace(/[\x7f]/g, "\\u007f")
    .replace(INVISIBLE, escapeUnicode);
}

function escapeUnicode(char: string): string {
  return Array.from({ length: char.length }, (_, index) => {
    return `\\u${char.charCodeAt(index).toString(16).padStart(4, "0")}`;
  }).join("");
}

function hex(char: string): string {
  return (char.codePointAt(0) ?? 0).toString(16).toUpperCase();
}
