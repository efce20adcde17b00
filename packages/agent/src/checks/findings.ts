import { stripVTControlCharacters } from "node:util";

const MAX_LINES = 40;
const MAX_LINE_CHARACTERS = 400;

/** The lines of a check's output. */
export type Findings = readonly string[];

export function parseFindings(output: string): Findings {
  return stripVTControlCharacters(output)
    .split("\n")
    .map((line) => line.trimEnd())
    .filter((line) => line !== "");
}

/**
 * Returns the lines that are new. An edit moves other lines of the file, so a line that differs only in its numbers
 * counts as the same, as often as it occurred before.
 */
export function newFindings(before: Findings, after: Findings): Findings {
  const exact = countLines(before);
  const unmatched = after.filter((line) => !take(exact, line));
  const similar = new Map<string, number>();
  for (const [line, count] of exact) {
    similar.set(withoutNumbers(line), (similar.get(withoutNumbers(line)) ?? 0) + count);
  }
  return unmatched.filter((line) => !take(similar, withoutNumbers(line)));
}

/** Formats findings for a tool's result, within a bound. */
export function formatFindings(findings: Findings): string {
  const shown = findings
    .slice(0, MAX_LINES)
    .map((line) => (line.length > MAX_LINE_CHARACTERS ? `${line.slice(0, MAX_LINE_CHARACTERS)}…` : line));
  const more = findings.length > MAX_LINES ? [`[${findings.length - MAX_LINES} more lines]`] : [];
  return [...shown, ...more].join("\n");
}

function countLines(lines: Findings): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}

/** Removes one occurrence of a line, if there is one. */
function take(counts: Map<string, number>, line: string): boolean {
  const count = counts.get(line) ?? 0;
  if (count > 0) counts.set(line, count - 1);
  return count > 0;
}

function withoutNumbers(line: string): string {
  return line.replaceAll(/\d+/g, "#");
}
