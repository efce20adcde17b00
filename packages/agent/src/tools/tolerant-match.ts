/**
 * Finds a text in a file although the two differ in ways that models get wrong: trailing whitespace, line endings,
 * indentation, and characters that look alike.
 *
 * Both texts are normalized, and each character of the normalized file remembers its position in the original. The
 * levels are tried from the strictest to the most tolerant. The first level with a match is used, and the caller must
 * reject the match unless it is the only one of that level.
 */

import { TextSearch } from "../text-search.ts";
import { adjustIndentation } from "./indentation.ts";

/** Normalizing takes time in the thread that sends heartbeats. */
const MAX_FILE_CHARACTERS = 2 ** 20;
const MAX_TEXT_CHARACTERS = 256 * 1024;
const MAX_POSITIONS = 20;

export interface Level {
  ignoresIndentation: boolean;
  ignoresLookAlikes: boolean;
  /** What the level ignores, for the report to the model. */
  description: string;
}

/** From the strictest to the most tolerant. */
export const levels: readonly Level[] = [
  {
    ignoresIndentation: false,
    ignoresLookAlikes: false,
    description: "trailing whitespace and line endings",
  },
  { ignoresIndentation: true, ignoresLookAlikes: false, description: "indentation" },
  {
    ignoresIndentation: false,
    ignoresLookAlikes: true,
    description: "look-alike characters such as quotes and dashes",
  },
  {
    ignoresIndentation: true,
    ignoresLookAlikes: true,
    description: "indentation and look-alike characters such as quotes and dashes",
  },
];

export interface TolerantMatch {
  /** What the match ignores. */
  ignored: string;
  /** The matching parts of the file. */
  ranges: { start: number; end: number }[];
  /** The replacement for the first of them, with the file's indentation and line endings. */
  replacement: string;
}

/** Returns the matches of the strictest level that has any. */
export function findTolerantMatch(
  file: string,
  { old_text, new_text }: { old_text: string; new_text: string },
): TolerantMatch | undefined {
  if (file.length > MAX_FILE_CHARACTERS || old_text.length > MAX_TEXT_CHARACTERS) return undefined;
  for (const level of levels) {
    const ranges = findRanges(file, old_text, level);
    const [first] = ranges;
    if (!first) continue;
    const matched = file.slice(first.start, first.end);
    const adjusted = level.ignoresIndentation
      ? adjustIndentation(new_text, { wrong: old_text, right: matched })
      : new_text;
    return { ignored: level.description, ranges, replacement: withLineEndings(adjusted, file, first) };
  }
  return undefined;
}

function findRanges(file: string, text: string, level: Level) {
  const wanted = normalize(text, level);
  // A text of nothing but whitespace would match anywhere.
  if (wanted.text.trim() === "") return [];
  const view = normalize(file, level);
  return new TextSearch(wanted.text)
    .allIn(view.text, MAX_POSITIONS + 1)
    .filter((at) => !level.ignoresIndentation || isWholeLines(view.text, at, at + wanted.text.length))
    .map((at) => toRange(file, view, { start: at, end: at + wanted.text.length, level }));
}

/** Without its indentation, a part of a line would match in the middle of any other. */
function isWholeLines(text: string, start: number, end: number): boolean {
  const startsLine = start === 0 || text[start - 1] === "\n";
  return startsLine && (end === text.length || text[end] === "\n" || text[end - 1] === "\n");
}

/** Converts a range of the normalized text to a range of the file. */
function toRange(
  file: string,
  { positions }: View,
  { start, end, level }: { start: number; end: number; level: Level },
): { start: number; end: number } {
  let from = positions[start] as number;
  if (level.ignoresIndentation) from = from === 0 ? 0 : file.lastIndexOf("\n", from - 1) + 1;
  if (file[from] === "\ufeff") from += 1;
  let to = end < positions.length ? (positions[end] as number) : file.length;
  // If the next character starts an indented line or ends with CR LF, what precedes it is not part of the match.
  const last = positions[end - 1] as number;
  if (file[last] === "\n") to = last + 1;
  else if (file[to - 1] === "\r") to -= 1;
  return { start: from, end: Math.max(to, last + 1) };
}

interface View {
  text: string;
  /** The position of each character in the original text. */
  positions: Int32Array;
}

function normalize(text: string, { ignoresIndentation, ignoresLookAlikes }: Level): View {
  const parts: string[] = [];
  // A character becomes at most 18 characters, but only very few grow at all.
  let positions = new Int32Array(text.length + 64);
  let length = 0;
  const push = (part: string, at: number) => {
    if (length + part.length > positions.length) {
      const larger = new Int32Array(2 * (length + part.length));
      larger.set(positions);
      positions = larger;
    }
    parts.push(part);
    positions.fill(at, length, length + part.length);
    length += part.length;
  };
  let lineStart = 0;
  while (lineStart <= text.length) {
    const lineEnd = text.indexOf("\n", lineStart);
    const end = lineEnd === -1 ? text.length : lineEnd;
    const line = text.slice(lineStart, end);
    const trimmed = line.trimEnd();
    let at = ignoresIndentation ? line.length - line.trimStart().length : 0;
    if (!ignoresLookAlikes || isPlain.test(line)) {
      const kept = trimmed.slice(at);
      const base = length;
      push(kept, lineStart + at);
      for (let index = 0; index < kept.length; index++) positions[base + index] = lineStart + at + index;
    } else {
      while (at < trimmed.length) {
        const character = String.fromCodePoint(trimmed.codePointAt(at) as number);
        push(plainForm(character), lineStart + at);
        at += character.length;
      }
    }
    if (lineEnd === -1) break;
    push("\n", lineEnd);
    lineStart = lineEnd + 1;
  }
  return { text: parts.join(""), positions: positions.subarray(0, length) };
}

/** Matches lines without characters that have another plain form. */
const isPlain = /^[ -_a-~]*$/;

const plainForms: Record<string, string> = {};
for (const [plain, characters] of [
  ["'", "\u2018\u2019\u201a\u201b\u2032\u00b4\u02bc\u0060"],
  ['"', "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb"],
  ["-", "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u00ad"],
  [" ", "\t\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"],
  ["", "\u200b\u200c\u200d\u2060\ufeff\ufe0f"],
] as const) {
  for (const character of characters) plainForms[character] = plain;
}

/** Returns the ASCII character that looks the same, or the compatible decomposition. */
function plainForm(character: string): string {
  if (character > " " && character < "\u007f" && character !== "`") return character;
  return plainForms[character] ?? character.normalize("NFKD");
}

/** Normalizes a single line, without positions. */
export function normalizeLine(line: string, { ignoresIndentation, ignoresLookAlikes }: Level): string {
  const trimmed = ignoresIndentation ? line.trim() : line.trimEnd();
  if (!ignoresLookAlikes || isPlain.test(trimmed)) return trimmed;
  return Array.from(trimmed, plainForm).join("");
}

/** Uses CR LF in the replacement if the first line break of the matching lines is one. */
function withLineEndings(text: string, file: string, { start }: { start: number }): string {
  const lineBreak = file.indexOf("\n", start);
  const plain = text.replaceAll("\r\n", "\n");
  return lineBreak > 0 && file[lineBreak - 1] === "\r" ? plain.replaceAll("\n", "\r\n") : plain;
}
