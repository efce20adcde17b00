import type { RunFileEntry, RunFiles } from "@outrider/sdk";

/** A folder that is shown: its entries, or why they are missing. */
export interface FolderState {
  data?: RunFiles | undefined;
  error?: Error | null;
}

export type TreeRow =
  | { kind: "entry"; path: string; level: number; entry: RunFileEntry; isExpanded?: boolean }
  /** Stands for entries that are missing: because the folder is loading, failed to load, is empty, or is too large. */
  | { kind: "note"; path: string; level: number; note: "loading" | "failed" | "empty" | "truncated" };

export const joinPath = (folder: string, name: string) => (folder === "" ? name : `${folder}/${name}`);

/** Lists the rows of the tree from top to bottom. Only the folders in `expanded` show what they contain. */
export function treeRows(
  folders: ReadonlyMap<string, FolderState>,
  expanded: ReadonlySet<string>,
  { path = "", level = 1 } = {},
): TreeRow[] {
  const { data, error } = folders.get(path) ?? {};
  const note = (kind: "loading" | "failed" | "empty" | "truncated"): TreeRow => ({
    ...{ kind: "note", path, level, note: kind },
  });
  if (!data) return [note(error ? "failed" : "loading")];
  if (data.entries.length === 0) return [note("empty")];
  const rows = data.entries.flatMap((entry): TreeRow[] => {
    const own = joinPath(path, entry.name);
    if (entry.type !== "folder") return [{ kind: "entry", path: own, level, entry }];
    const isExpanded = expanded.has(own);
    const row: TreeRow = { kind: "entry", path: own, level, entry, isExpanded };
    return isExpanded ? [row, ...treeRows(folders, expanded, { path: own, level: level + 1 })] : [row];
  });
  return data.is_truncated ? [...rows, note("truncated")] : rows;
}
