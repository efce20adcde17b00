import parseDiff from "parse-diff";
import { harmless } from "./harmless.ts";

export interface PatchLine {
  type: "add" | "del" | "same" | "gap";
  before: number | undefined;
  after: number | undefined;
  text: string;
}

/** Longer lines are cut: nobody reads on there, and one of them could be a megabyte. */
const LONGEST_LINE = 2_000;
/** A patch that is longer is read up to here; the page of changes has a download of it all. */
const LONGEST_PATCH = 400_000;

export interface Patch {
  lines: PatchLine[];
  added: number;
  removed: number;
}

export function readPatch(patch: string): Patch {
  const [file] = parseDiff(patch.slice(0, LONGEST_PATCH));
  const lines = (file?.chunks ?? []).flatMap((chunk, index): PatchLine[] => [
    ...(index > 0
      ? [{ type: "gap" as const, before: undefined, after: undefined, text: harmless(chunk.content) }]
      : []),
    ...chunk.changes.map(lineOf),
  ]);
  return { lines, added: file?.additions ?? 0, removed: file?.deletions ?? 0 };
}

function lineOf(change: parseDiff.Change): PatchLine {
  const text = harmless(cut(change.content.slice(1)));
  if (change.type === "add") return { type: "add", before: undefined, after: change.ln, text };
  if (change.type === "del") return { type: "del", before: change.ln, after: undefined, text };
  return { type: "same", before: change.ln1, after: change.ln2, text };
}

function cut(line: string): string {
  return line.length <= LONGEST_LINE
    ? line
    : `${line.slice(0, LONGEST_LINE)} … ${(line.length - LONGEST_LINE).toLocaleString()} more characters`;
}
