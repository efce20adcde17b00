import parseDiff from "parse-diff";

export interface DiffLine {
  kind: "same" | "added" | "removed" | "note";
  old?: number;
  new?: number;
  text: string;
}

export interface Hunk {
  /** The hunk header as git writes it, with line numbers and the function name. */
  heading: string;
  lines: DiffLine[];
}

export interface PatchFile {
  path: string;
  /** A renamed file's previous path. */
  from?: string;
  kind: "created" | "modified" | "deleted" | "renamed";
  additions: number;
  deletions: number;
  hunks: Hunk[];
}

/** Parses a unified patch. Binary files, mode changes and plain renames have no hunks. */
export function readPatch(patch: string): PatchFile[] {
  // The parser would treat a trailing newline as an additional empty line.
  return parseDiff(patch.replace(/\n$/, "")).map((file) => {
    const from = named(file.from);
    const to = named(file.to);
    const isMoved = from !== undefined && to !== undefined && from !== to;
    return {
      path: to ?? from ?? "(unnamed)",
      ...(isMoved && { from }),
      kind:
        !from || file.new ? "created" : !to || file.deleted ? "deleted" : isMoved ? "renamed" : "modified",
      additions: file.additions,
      deletions: file.deletions,
      hunks: file.chunks.map(({ content, changes }) => ({ heading: content, lines: changes.map(lineOf) })),
    };
  });
}

function named(path: string | undefined): string | undefined {
  return path === "/dev/null" ? undefined : path;
}

function lineOf(change: parseDiff.Change): DiffLine {
  const { content } = change;
  // "\ No newline at end of file" refers to the line above it.
  if (content.startsWith("\\")) return { kind: "note", text: content.slice(2) };
  const text = content.slice(1);
  if (change.type === "add") return { kind: "added", new: change.ln, text };
  if (change.type === "del") return { kind: "removed", old: change.ln, text };
  return { kind: "same", old: change.ln1, new: change.ln2, text };
}

export function linesOf(file: PatchFile): number {
  return file.hunks.reduce((sum, { lines }) => sum + lines.length, 0);
}
