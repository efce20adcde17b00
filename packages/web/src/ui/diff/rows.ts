import type { DiffLine, PatchFile } from "./patch.ts";

export type DiffLayout = "unified" | "split";

/** A row of a shown diff. In the split layout, a row has the old line, the new line or both. */
export type DiffRow =
  | { kind: "heading"; text: string }
  | { kind: "line"; line: DiffLine }
  | { kind: "pair"; left: DiffLine | undefined; right: DiffLine | undefined };

export function rowsOf({ hunks }: PatchFile, layout: DiffLayout): DiffRow[] {
  return hunks.flatMap(({ heading, lines }): DiffRow[] => [
    { kind: "heading", text: heading },
    ...(layout === "split" ? pairsOf(lines) : lines.map((line): DiffRow => ({ kind: "line", line }))),
  ]);
}

/** Places removed lines beside the added lines that replace them. */
function pairsOf(lines: readonly DiffLine[]): DiffRow[] {
  const rows: DiffRow[] = [];
  let removed: DiffLine[] = [];
  let added: DiffLine[] = [];
  const flush = () => {
    for (let row = 0; row < Math.max(removed.length, added.length); row++)
      rows.push({ kind: "pair", left: removed[row], right: added[row] });
    removed = [];
    added = [];
  };
  for (const line of lines) {
    if (line.kind === "removed") {
      // Git writes a block's removed lines first, so this line starts another block.
      if (added.length > 0) flush();
      removed.push(line);
    } else if (line.kind === "added") added.push(line);
    else if (line.kind === "note" && (added.length > 0 || removed.length > 0))
      (added.length > 0 ? added : removed).push(line);
    else {
      flush();
      rows.push({ kind: "pair", left: line, right: line });
    }
  }
  flush();
  return rows;
}
