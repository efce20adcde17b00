/**
 * What agents, commands and files wrote is text, but some characters hide, reorder or overprint what stands around
 * them: those are shown by name, and marks that pile up on one letter are cut to a few.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g;
const UNSEEN =
  /[\u0080-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
const PILES = /(\p{M}{3})\p{M}+/gu;

export function harmless(text: string): string {
  return text
    .replace(/\r\n?/g, "\n")
    .replace(CONTROLS, (char) => String.fromCodePoint(char === "\x7f" ? 0x2421 : 0x2400 + char.charCodeAt(0)))
    .replace(UNSEEN, (char) => `⟨U+${hex(char)}⟩`)
    .replace(PILES, "$1");
}

export function harmlessLine(text: string): string {
  return harmless(text).replaceAll(/\s+/g, " ").trim();
}

function hex(char: string): string {
  return (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
}
