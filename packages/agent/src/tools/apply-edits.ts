import { isUtf8 } from "node:buffer";
import { TextSearch } from "../text-search.ts";
import { explainMismatch } from "./closest-match.ts";
import { findTolerantMatch } from "./tolerant-match.ts";

/** Repeated replacements grow a file exponentially. */
const MAX_RESULT_BYTES = 32 * 2 ** 20;
/** Each edit reads the whole file, and the thread that sends heartbeats waits for it. */
const MAX_READ_BYTES = 64 * 2 ** 20;
/** Tolerant matching takes longer than a search. */
const MAX_TOLERANT_BYTES = 2 * 2 ** 20;
const MAX_REPLACEMENTS = 1_000_000;
const LINE_FEED = 10;

export interface Edit {
  old_text: string;
  new_text: string;
  replace_all?: boolean | undefined;
}

interface ApplyOptions {
  edits: Edit[];
  /** Redacts the file's text, because error messages quote its lines. */
  redact(text: string): string;
}

export type EditResult =
  | {
      data: Buffer;
      count: number;
      firstLine: number;
      /** One sentence about each edit whose old text differs from the file. */
      deviations: string[];
    }
  | { problem: string };

/**
 * Applies all edits in order, or none. An old text that is not in the file is matched with growing tolerance; see
 * tolerant-match.ts. The file is handled as latin1, one character per byte, so that bytes outside the
 * edits are preserved in any encoding. A file whose lines all end with CR LF keeps these line endings, even if the
 * edits use LF.
 */
export function applyEdits(before: Buffer, { edits, redact }: ApplyOptions): EditResult {
  let text = before.toString("latin1");
  const usesCrlf = text.includes("\r\n") && !/(?<!\r)\n/.test(text);
  let [count, bytesRead, tolerantBytes] = [0, 0, 0];
  const deviations: string[] = [];
  let firstLine = Number.POSITIVE_INFINITY;
  for (const [index, edit] of edits.entries()) {
    const label = edits.length === 1 ? "" : `Edit ${index + 1} of ${edits.length}: `;
    if (edit.old_text === edit.new_text) return { problem: `${label}old_text and new_text are the same.` };
    bytesRead += text.length;
    if (bytesRead > MAX_READ_BYTES)
      return { problem: `${label}the file is too large for this number of edits. Use several calls.` };
    const { oldText, newText, positions } = findEdit(edit, { text, usesCrlf });
    if (positions.length === 0) {
      tolerantBytes += text.length;
      const tolerant = tolerantBytes <= MAX_TOLERANT_BYTES ? replaceTolerantly(text, edit) : undefined;
      if (!tolerant)
        return { problem: label + explainMismatch(edit.old_text, { text: decode(text), redact }) };
      if ("problem" in tolerant) return { problem: label + tolerant.problem };
      deviations.push(`${label}Matched ignoring ${tolerant.ignored}.`);
      count += 1;
      firstLine = Math.min(firstLine, tolerant.line);
      text = tolerant.text;
      continue;
    }
    if (positions.length > 1 && !edit.replace_all)
      return { problem: label + describeDuplicates(positions, text) };
    const size = text.length + positions.length * (newText.length - oldText.length);
    if (size > MAX_RESULT_BYTES)
      return { problem: `${label}the file would be larger than ${MAX_RESULT_BYTES} bytes.` };
    count += positions.length;
    if (count > MAX_REPLACEMENTS)
      return {
        problem: `${label}more than ${MAX_REPLACEMENTS} replacements. Change the file with a command.`,
      };
    firstLine = Math.min(firstLine, ...linesAt(positions.slice(0, 1), text));
    text = replaceAt(positions, { text, oldText, newText });
  }
  return { data: Buffer.from(text, "latin1"), count, firstLine, deviations };
}

type TolerantResult = { text: string; ignored: string; line: number } | { problem: string };

/** Replaces the only part of the file that matches with some tolerance. Returns undefined if there is none. */
function replaceTolerantly(text: string, { old_text, new_text }: Edit): TolerantResult | undefined {
  const bytes = Buffer.from(text, "latin1");
  const encoding = isUtf8(bytes) ? "utf8" : "latin1";
  const encode = (part: string) => Buffer.from(part).toString(encoding);
  const file = bytes.toString(encoding);
  const match = findTolerantMatch(file, { old_text: encode(old_text), new_text: encode(new_text) });
  if (!match) return undefined;
  const { ranges, ignored, replacement } = match;
  const [range] = ranges;
  const lines = linesAt(
    ranges.map(({ start }) => start),
    file,
  );
  const [line] = lines;
  if (!range || line === undefined || ranges.length > 1) {
    const where = `it matches at lines ${lines.join(", ")} if one ignores ${ignored}`;
    return { problem: `old_text is not in the file, but ${where}. Include more context to make it unique.` };
  }
  const replaced = file.slice(0, range.start) + replacement + file.slice(range.end);
  if (replaced.length > MAX_RESULT_BYTES)
    return { problem: `the file would be larger than ${MAX_RESULT_BYTES} bytes.` };
  return { text: Buffer.from(replaced, encoding).toString("latin1"), ignored, line };
}

function decode(bytes: string): string {
  return Buffer.from(bytes, "latin1")
    .toString()
    .replace(/^\ufeff/, "");
}

interface FoundEdit {
  oldText: string;
  newText: string;
  /** The positions of the old text. If there are more than `MAX_REPLACEMENTS`, the list is incomplete. */
  positions: number[];
}

/** Finds the old text. In a file with mixed line endings, the edit uses the variant in which the old text occurs. */
function findEdit(
  { old_text, new_text }: Edit,
  { text, usesCrlf }: { text: string; usesCrlf: boolean },
): FoundEdit {
  const plain = (part: string) => Buffer.from(part).toString("latin1");
  const withCrlf = (part: string) => plain(part).replace(/(?<!\r)\n/g, "\r\n");
  const find = (encode: (part: string) => string) => {
    const oldText = encode(old_text);
    const positions = new TextSearch(oldText).allIn(text, MAX_REPLACEMENTS + 1);
    return { oldText, newText: encode(new_text), positions };
  };
  if (usesCrlf) return find(withCrlf);
  const found = find(plain);
  return found.positions.length > 0 || withCrlf(old_text) === found.oldText ? found : find(withCrlf);
}

function replaceAt(
  positions: number[],
  { text, oldText, newText }: { text: string; oldText: string; newText: string },
): string {
  const parts: string[] = [];
  let from = 0;
  for (const position of positions) {
    parts.push(text.slice(from, position), newText);
    from = position + oldText.length;
  }
  parts.push(text.slice(from));
  return parts.join("");
}

/** Returns the line numbers of positions in ascending order. */
function linesAt(positions: number[], text: string): number[] {
  let [line, at] = [1, 0];
  return positions.map((position) => {
    for (; at < position; at++) if (text.charCodeAt(at) === LINE_FEED) line += 1;
    return line;
  });
}

function describeDuplicates(positions: number[], text: string): string {
  const isComplete = positions.length <= MAX_REPLACEMENTS;
  const count = isComplete ? positions.length : `more than ${MAX_REPLACEMENTS}`;
  const lines = linesAt(positions.slice(0, 20), text);
  const more = positions.length > lines.length ? ", …" : "";
  return `old_text occurs ${count} times in the file, at lines ${lines.join(", ")}${more}. Include more \
context to make it unique, or set replace_all.`;
}
