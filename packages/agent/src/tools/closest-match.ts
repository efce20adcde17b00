import { editDistance } from "@outrider/contract/errors/edit-distance";

/** Longer lines and files are compared only in part, because the result is only a hint. */
const MAX_COMPARED_CHARACTERS = 120;
const MAX_COMPARED_LINES = 20_000;
const MAX_WANTED_LINES = 5_000;
const MAX_COMPARISONS = 1_000_000;
const MAX_DISTANCE_LINES = 5_000;
const MAX_SHOWN_LINES = 30;

interface MismatchContext {
  /** The file's text. */
  text: string;
  redact(text: string): string;
  /** The subject of the explanation. */
  name?: string;
}

/** Explains why an edit's old text is not in the file, and quotes the closest match. */
export function explainMismatch(
  oldText: string,
  { text, redact, name = "old_text" }: MismatchContext,
): string {
  const wanted = linesOf(oldText, MAX_WANTED_LINES + 1);
  const lines = linesOf(text, MAX_COMPARED_LINES + MAX_WANTED_LINES);
  if (wanted.every((line) => /^\s*\d+\t/.test(line))) {
    return `${name} is not in the file: leave out the line numbers and the tab after them.`;
  }
  const hint = oldText.includes("***")
    ? " read_file shows *** in place of a masked secret: edit around it."
    : "";
  const show = (from: number) => {
    const end = from + Math.min(wanted.length, MAX_SHOWN_LINES);
    return numberLines(linesOf(redact(text), end).slice(from), from);
  };
  const normalized = wanted.map(normalizeSpace);
  const isComplete = wanted.length <= MAX_WANTED_LINES;
  const spacingMatch = isComplete ? findSameWords(normalized, lines) : undefined;
  if (spacingMatch !== undefined) {
    const passage = lines.slice(spacingMatch, spacingMatch + wanted.length);
    const difference = describeDifference(wanted, passage);
    return `${name} is in the file only with different whitespace${difference}:\n${show(spacingMatch)}`;
  }
  const near = findClosest(normalized, lines);
  if (near === undefined) return `${name} is not in the file, nor is anything similar.${hint}`;
  return `${name} is not in the file.${hint} The closest match:\n${show(near)}`;
}

function linesOf(text: string, max: number): string[] {
  return text.replace(/\n$/, "").split("\n", max);
}

function normalizeSpace(line: string): string {
  return line.trim().replace(/\s+/g, " ");
}

/** Finds the position where the lines match except for whitespace. */
function findSameWords(wanted: string[], lines: string[]): number | undefined {
  const normalized = lines.slice(0, MAX_COMPARED_LINES + wanted.length).map(normalizeSpace);
  let comparisons = 0;
  for (let at = 0; at < MAX_COMPARED_LINES && at + wanted.length <= normalized.length; at++) {
    const isMatch = wanted.every((line, index) => {
      comparisons += 1;
      return line === normalized[at + index];
    });
    if (isMatch) return at;
    // Two texts with many repeated lines would otherwise be compared for minutes.
    if (comparisons > MAX_COMPARISONS) return undefined;
  }
  return undefined;
}

function describeDifference(wanted: string[], passage: string[]): string {
  const differing = wanted.findIndex((line, index) => line !== passage[index]);
  const [ours = "", theirs = ""] = [wanted[differing], passage[differing]];
  const indent = (line: string) => /^\s*/.exec(line)?.[0] ?? "";
  if (ours.replace(/\r$/, "") === theirs.replace(/\r$/, "")) return " (the file's lines end with CR LF)";
  if (ours.trimEnd() === theirs.trimEnd()) return ` (line ${differing + 1} of old_text differs at its end)`;
  if (indent(ours) === indent(theirs)) return ` (line ${differing + 1} of old_text differs inside)`;
  return ` (line ${differing + 1} is indented by ${describeIndent(indent(theirs))}, not by ${describeIndent(indent(ours))})`;
}

function describeIndent(indent: string): string {
  const tabs = indent.split("\t").length - 1;
  const spaces = indent.length - tabs;
  const parts = [tabs > 0 ? `${tabs} tabs` : "", spaces > 0 ? `${spaces} spaces` : ""].filter(Boolean);
  return parts.join(" and ") || "nothing";
}

/** Finds the position where most lines of the wanted text match, or else the line most similar to its first line. */
function findClosest(wanted: string[], lines: string[]): number | undefined {
  const normalized = lines.slice(0, MAX_COMPARED_LINES).map(normalizeSpace);
  const positions = new Map<string, number[]>();
  for (const [at, line] of normalized.entries()) {
    if (line.length > 2) positions.set(line, [...(positions.get(line) ?? []), at].slice(0, 50));
  }
  const votes = new Map<number, number>();
  for (const [index, line] of wanted.entries()) {
    for (const at of positions.get(line) ?? []) {
      const start = Math.max(0, at - index);
      votes.set(start, (votes.get(start) ?? 0) + 1);
    }
  }
  const best = [...votes].sort(([a, votesA], [b, votesB]) => votesB - votesA || a - b)[0];
  if (best) return best[0];
  const first = (wanted.find((line) => line !== "") ?? "").slice(0, MAX_COMPARED_CHARACTERS);
  let [position, minDistance] = [-1, first.length / 2];
  for (const [at, line] of normalized.slice(0, MAX_DISTANCE_LINES).entries()) {
    const other = line.slice(0, MAX_COMPARED_CHARACTERS);
    if (Math.abs(other.length - first.length) >= minDistance) continue;
    const edits = editDistance(first, other);
    if (edits < minDistance) [position, minDistance] = [at, edits];
  }
  return position === -1 ? undefined : position;
}

function numberLines(lines: string[], from: number): string {
  return lines.map((line, index) => `${from + index + 1}\t${line.slice(0, 500)}`).join("\n");
}
