import type { DiffLine } from "../../../ui/diff/patch.ts";

/** A comment on a line of the diff that has not been sent yet. */
export interface LineComment {
  /** Identifies the line. A line has at most one comment. */
  place: string;
  path: string;
  line: DiffLine;
  text: string;
}

export interface LineComments {
  all: readonly LineComment[];
  /** Adds a comment, or replaces the one at the same line. An empty text removes it. */
  save: (comment: LineComment) => void;
  remove: (place: string) => void;
  clear: () => void;
}

export function placeOf(path: string, { kind, old, new: current }: DiffLine): string | undefined {
  const number = kind === "removed" ? old : current;
  return number === undefined ? undefined : `${path}:${kind === "removed" ? "-" : "+"}${number}`;
}

const MAX_QUOTED = 500;

/** Returns one message with all comments, each with its file, line and code, in the order of the files. */
export function messageOf(comments: readonly LineComment[]): string {
  const sorted = comments.toSorted(
    (a, b) => a.path.localeCompare(b.path) || numberOf(a.line) - numberOf(b.line),
  );
  const parts = sorted.map(({ path, line, text }) => {
    const where = `${path}, ${line.kind === "removed" ? "removed line" : "line"} ${numberOf(line)}:`;
    return `${where}\n> ${line.text.slice(0, MAX_QUOTED)}\n\n${text.trim()}`;
  });
  const intro =
    comments.length === 1
      ? "Please address this comment on your changes."
      : `Please address these ${comments.length} comments on your changes.`;
  return [intro, ...parts].join("\n\n");
}

function numberOf({ kind, old, new: current }: DiffLine): number {
  return (kind === "removed" ? old : current) ?? 0;
}
