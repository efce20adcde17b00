/**
 * Agents add text of their own to the user's messages: reminders, the environment, instruction files. They mark it with
 * tags. This module returns only what the user wrote, because a line of an instruction file is not a step of the script.
 */

/** Agents deliver a message that arrives while they work in a tag of their own. */
const INJECTED = /(?:user|follow-up)[^\n]{0,40} (?:sent|message)[^\n]{0,80}:/i;

/** More tags without an end would make the search slow. */
const MAX_UNCLOSED = 100;

/** Codex puts instruction files into a message of this form. */
const INSTRUCTION_FILE = /^# AGENTS\.md instructions/;

/** Outrider's notes to the agent are messages of their own for the script; see conversation/notes.ts. */
const NOTE = /^\[Outrider: [a-z ]+\]/;
/** Notes of several paragraphs. Nothing of the user's follows them. */
const LONG_NOTE = /^\[Outrider: (?:handover|compacted)\]/;

/** Returns the user's messages in a text. */
export function userTexts(text: string): string[] {
  if (INSTRUCTION_FILE.test(text)) return [];
  return splitNotes(removeTagged(text)).filter((part) => part.trim() !== "");
}

function removeTagged(text: string): string {
  const kept: string[] = [];
  const unclosed = new Set<string>();
  let position = 0;
  for (const match of text.matchAll(/^[ \t]*<([A-Za-z][\w-]{0,60})(?: [^<>\n]{0,200})?>/gm)) {
    const [, tag = ""] = match;
    if (match.index < position || unclosed.has(tag) || unclosed.size >= MAX_UNCLOSED) continue;
    const close = `</${tag}>`;
    const end = text.indexOf(close, match.index);
    if (end === -1) {
      unclosed.add(tag);
      continue;
    }
    kept.push(text.slice(position, match.index));
    const content = text.slice(match.index + match[0].length, end);
    if (INJECTED.test(content.slice(0, 300))) kept.push(content);
    position = end + close.length;
  }
  kept.push(text.slice(position));
  return kept.join("\n");
}

/** A note ends at the first empty line, because some agents join the parts of a prompt. */
function splitNotes(text: string): string[] {
  return text.split(/^(?=\[Outrider: )/m).flatMap((part) => {
    const end = NOTE.test(part) && !LONG_NOTE.test(part) ? part.indexOf("\n\n") : -1;
    return end === -1 ? [part] : [part.slice(0, end), part.slice(end)];
  });
}
