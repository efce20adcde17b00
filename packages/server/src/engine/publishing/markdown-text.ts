/*
 * Renders text from outside (agents, commands, comments) in Markdown of a forge. Such text must not notify users, run
 * GitLab's quick actions, contain HTML, or change how the text after it is rendered. Sequences with an effect are broken
 * with a zero-width space, everywhere, because forges disagree about where a code block begins.
 */

const BREAK = "\u200b";
/** Control characters except tab and newline, and characters that reverse the direction of text. */
const invisible = /[^\P{Cc}\t\n]|[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Sanitizes text that may contain Markdown. The result has at most `maxCharacters`. It must have a blank line before
 * and after it.
 */
export function safeMarkdown(text: string, { maxCharacters }: { maxCharacters: number }): string {
  const plain = withoutControls(text).trim();
  let result = sanitize(truncate(plain, maxCharacters));
  for (let max = maxCharacters; result.length > maxCharacters; result = sanitize(truncate(plain, max)))
    max = Math.floor((max * maxCharacters) / result.length) - 1;
  return result;
}

function sanitize(text: string): string {
  const sanitized = text
    // Mentions. An address such as a@example.com is not one.
    .replace(/(?<![\p{L}\p{N}_.+-])@(?=[\p{L}\p{N}_])/gu, `@${BREAK}`)
    // HTML, including comments, declarations and processing instructions.
    .replace(/<(?=[a-z!/?])/gi, `<${BREAK}`)
    // Quick actions at the beginning of a line.
    .replace(/^([ \t>*+-]*)\/(?=[a-z])/gim, `$1${BREAK}/`);
  return isSelfContained(sanitized) ? sanitized : quoteLines(sanitized);
}

/** Quotes each line. A quotation also ends every code block and list in it. */
export function quoteLines(text: string): string {
  return text
    .split("\n")
    .map((line) => (line === "" ? ">" : `> ${line}`))
    .join("\n");
}

/** Renders one line of text as code. */
export function inlineCode(text: string, { maxCharacters }: { maxCharacters: number }): string {
  const line = truncate(withoutControls(text).replace(/\s+/g, " ").trim(), maxCharacters);
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const space = line.startsWith("`") || line.endsWith("`") ? " " : "";
  return line === "" ? "`(empty)`" : `${fence}${space}${line}${space}${fence}`;
}

/** Renders text as a code block that the text cannot close. */
export function codeBlock(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${withoutControls(text)}\n${fence}`;
}

export function withoutControls(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(invisible, "");
}

/** Cuts text after a number of characters, without splitting one. */
export function truncate(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  const cut = text.slice(0, maxCharacters - 1);
  return `${/[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut}…`;
}

/**
 * Returns whether every code block of the text certainly ends in it. Blocks must be at the beginning of a line and
 * closed; a fence elsewhere, such as in a list, is not certain.
 */
function isSelfContained(text: string): boolean {
  let open: { mark: string; length: number } | undefined;
  for (const line of text.split("\n")) {
    const [, run] = /^(`{3,}|~{3,})/.exec(line) ?? [];
    if (open) {
      const isClosing =
        run?.startsWith(open.mark) && run.length >= open.length && line.slice(run.length).trim() === "";
      if (isClosing) open = undefined;
      // The forge may read this line as the end of the block, although it is not at the beginning of the line.
      else if (/^\s+(`{3,}|~{3,})\s*$/.test(line)) return false;
    } else if (run) {
      // The info string of a fence of backticks must not contain one: then it is not a fence.
      if (run.startsWith("`") && line.slice(run.length).includes("`")) return false;
      open = { mark: run[0] as string, length: run.length };
    } else if (/`{3}|~{3}/.test(line)) {
      return false;
    }
  }
  return open === undefined;
}
