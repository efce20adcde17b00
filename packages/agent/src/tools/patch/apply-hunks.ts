import { isUtf8 } from "node:buffer";
import { explainMismatch } from "../closest-match.ts";
import { adjustIndentation } from "../indentation.ts";
import { levels, normalizeLine } from "../tolerant-match.ts";
import type { Hunk } from "./parse-patch.ts";

/** Two texts with many repeated lines would otherwise be compared for minutes. */
const MAX_COMPARISONS = 2_000_000;
const MAX_SHOWN_LINES = 20;

interface PatchedFile {
  data: Buffer;
  /** What was ignored to match the hunks, without duplicates. */
  ignored: string[];
}

/**
 * Applies the hunks of one file in order. Lines that the patch does not change keep their bytes, and new lines get the
 * file's line endings. Throws an error for the model if a hunk does not match exactly once.
 */
export function applyHunks(
  before: Buffer,
  { path, hunks, redact }: { path: string; hunks: readonly Hunk[]; redact(text: string): string },
): PatchedFile {
  const encoding = isUtf8(before) ? "utf8" : "latin1";
  const text = before.toString(encoding);
  const hasFinalBreak = text === "" || text.endsWith("\n");
  const lines = text === "" ? [] : (hasFinalBreak ? text.slice(0, -1) : text).split("\n");
  const isCrlf = lines[0]?.endsWith("\r") ?? false;
  const finder = new LineFinder(lines);
  const output: string[] = [];
  const ignored = new Set<string>();
  let cursor = 0;
  for (const [index, hunk] of hunks.entries()) {
    const label = `${path}, hunk ${index + 1} of ${hunks.length}`;
    const encoded = encodeHunk(hunk, encoding);
    const found = findHunk(finder, encoded, { cursor, label, explain });
    if (found.ignored) ignored.add(found.ignored);
    output.push(...lines.slice(cursor, found.start));
    const removed = encoded.lines.filter(({ type }) => type !== "added").map(({ text }) => text);
    const matched = lines.slice(found.start, found.start + removed.length);
    const indent = (line: string) =>
      found.ignoresIndentation
        ? adjustIndentation(line, { wrong: removed.join("\n"), right: matched.join("\n") })
        : line;
    let at = found.start;
    for (const { type, text } of encoded.lines) {
      if (type === "added") output.push(indent(text) + (isCrlf ? "\r" : ""));
      else if (type === "context") output.push(lines[at] as string);
      if (type !== "added") at += 1;
    }
    cursor = at;
  }
  output.push(...lines.slice(cursor));
  const joined = output.join("\n") + (hasFinalBreak && output.length > 0 ? "\n" : "");
  return { data: Buffer.from(joined, encoding), ignored: [...ignored] };

  function explain(wanted: string[]): string {
    return explainMismatch(wanted.join("\n"), {
      text: text.replace(/^\ufeff/, ""),
      redact,
      name: "Its old part",
    });
  }
}

function encodeHunk(hunk: Hunk, encoding: BufferEncoding): Hunk {
  const encode = (text: string) => Buffer.from(text).toString(encoding);
  return {
    ...hunk,
    headers: hunk.headers.map(encode),
    lines: hunk.lines.map(({ type, text }) => ({ type, text: encode(text) })),
  };
}

interface FoundHunk {
  start: number;
  ignored?: string;
  ignoresIndentation?: boolean;
}

function findHunk(
  finder: LineFinder,
  { headers, lines, isAtEnd }: Hunk,
  { cursor, label, explain }: { cursor: number; label: string; explain(wanted: string[]): string },
): FoundHunk {
  let from = cursor;
  for (const header of headers) {
    const at = finder.findHeader(header, from);
    if (at === undefined)
      throw new Error(`${label}: no line after the previous hunk matches "@@ ${header}".`);
    from = at + 1;
  }
  const wanted = lines.filter(({ type }) => type !== "added").map(({ text }) => text);
  if (wanted.length === 0) return { start: headers.length > 0 ? from : finder.count };
  // The header is often also the first context line.
  const match = finder.find(wanted, { from: Math.max(cursor, from - (headers.length > 0 ? 1 : 0)), isAtEnd });
  if (!match) throw new Error(`${label} does not match the file. ${explain(wanted)}`);
  const [start = 0, ...others] = match.starts;
  if (others.length > 0 && headers.length === 0) {
    const where = match.starts.slice(0, MAX_SHOWN_LINES).map((at) => at + 1);
    throw new Error(
      `${label} matches at lines ${where.join(", ")}: add more context, or a line "@@ " with the enclosing function or class.`,
    );
  }
  return { start, ...match.tolerance };
}

/** Finds sequences of lines in a file, with growing tolerance. */
class LineFinder {
  readonly #lines: readonly string[];
  readonly #normalized = new Map<string, string[]>();
  #comparisons = 0;

  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  get count(): number {
    return this.#lines.length;
  }

  /** Returns the first line that equals or contains the header, apart from indentation. */
  findHeader(header: string, from: number): number | undefined {
    const wanted = header.trim();
    const equal = this.#lines.findIndex((line, index) => index >= from && line.trim() === wanted);
    if (equal !== -1) return equal;
    const containing = this.#lines.findIndex((line, index) => index >= from && line.includes(wanted));
    return containing === -1 ? undefined : containing;
  }

  find(wanted: readonly string[], { from, isAtEnd }: { from: number; isAtEnd: boolean }) {
    const exact = { normalize: (line: string) => line, tolerance: {} };
    const tolerant = levels.map((level) => ({
      normalize: (line: string) => normalizeLine(line, level),
      tolerance: { ignored: level.description, ignoresIndentation: level.ignoresIndentation },
    }));
    for (const [level, { normalize, tolerance }] of [exact, ...tolerant].entries()) {
      const lines = this.#normalizedLines(String(level), normalize);
      const starts = this.#findAll(
        wanted.map(normalize),
        lines,
        isAtEnd ? Math.max(from, lines.length - wanted.length) : from,
      );
      if (starts.length > 0) return { starts, tolerance };
    }
    return undefined;
  }

  #normalizedLines(level: string, normalize: (line: string) => string): string[] {
    const known = this.#normalized.get(level);
    if (known) return known;
    const lines = this.#lines.map((line, index) =>
      normalize(index === 0 ? line.replace(/^\ufeff/, "") : line),
    );
    this.#normalized.set(level, lines);
    return lines;
  }

  #findAll(wanted: readonly string[], lines: readonly string[], from: number): number[] {
    const starts: number[] = [];
    for (let at = from; at + wanted.length <= lines.length; at++) {
      if (wanted.every((line, index) => this.#count() && line === lines[at + index])) starts.push(at);
    }
    return starts;
  }

  #count(): true {
    this.#comparisons += 1;
    if (this.#comparisons > MAX_COMPARISONS)
      throw new Error(
        "The file is too long and too repetitive for this patch: use smaller hunks or a command.",
      );
    return true;
  }
}
