/** Letters that turn the order of a line around, or that nobody sees: code that reads one way and runs another. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for.
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** The text with such letters spelled out. Line ends of other systems are left out: they are no news in every line. */
export function visible(text: string): string {
  return text
    .replace(/\r(?=\n|$)/g, "")
    .replace(hidden, (letter) => `⟨U+${letter.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}
