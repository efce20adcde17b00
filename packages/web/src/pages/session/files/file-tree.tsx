import clsx from "clsx";
import { ChevronRight, File, Folder, FolderOpen, Link2, Plug } from "lucide-react";
import { type KeyboardEvent, useRef } from "react";
import { formatBytes } from "../../../ui/format/numbers.ts";
import { sanitize } from "../../../ui/text/sanitize.ts";
import type { TreeRow } from "./tree-rows.ts";

interface FileTreeProps {
  rows: readonly TreeRow[];
  selected: string | undefined;
  onSelect: (path: string) => void;
  onToggle: (path: string) => void;
}

type EntryRow = Extract<TreeRow, { kind: "entry" }>;

const notes = {
  loading: "Loading…",
  failed: "Could not load this folder.",
  empty: "Empty",
  truncated: "More entries are not shown.",
};

const kinds: Partial<Record<EntryRow["entry"]["type"], string>> = {
  link: "link, which is not followed",
  other: "not a file",
};

const canOpen = ({ entry }: EntryRow) => entry.type === "file" || entry.type === "folder";

/** Shows files as a tree with the keyboard of a tree: arrows move, open and close. */
export function FileTree({ rows, selected, onSelect, onToggle }: FileTreeProps) {
  const tree = useRef<HTMLDivElement>(null);
  const entries = rows.filter((row) => row.kind === "entry");
  const current = entries.some(({ path }) => path === selected) ? selected : entries[0]?.path;

  const open = (row: EntryRow) => {
    if (row.entry.type === "folder") onToggle(row.path);
    else if (row.entry.type === "file") onSelect(row.path);
  };
  const focusRow = (row: EntryRow | undefined) =>
    row && tree.current?.querySelector<HTMLElement>(`[data-path="${CSS.escape(row.path)}"]`)?.focus();

  const handleKey = (event: KeyboardEvent, row: EntryRow) => {
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    const index = entries.indexOf(row);
    const parent = entries.slice(0, index).findLast(({ level }) => level < row.level);
    const moves: Record<string, () => void> = {
      ArrowDown: () => focusRow(entries[index + 1]),
      ArrowUp: () => focusRow(entries[index - 1]),
      Home: () => focusRow(entries[0]),
      End: () => focusRow(entries.at(-1)),
      ArrowRight: () => (row.isExpanded === false ? onToggle(row.path) : focusRow(entries[index + 1])),
      ArrowLeft: () => (row.isExpanded ? onToggle(row.path) : focusRow(parent)),
      Enter: () => open(row),
      " ": () => open(row),
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    move();
  };

  return (
    <div ref={tree} role="tree" aria-label="Files of the workspace" className="flex flex-col py-1">
      {rows.map((row) =>
        row.kind === "note" ? (
          <div
            key={`${row.path}//${row.note}`}
            role="none"
            style={{ paddingInlineStart: indent(row.level) }}
            className="flex h-8 items-center text-xs text-muted"
          >
            <span className="pl-5">{notes[row.note]}</span>
          </div>
        ) : (
          <div
            key={row.path}
            role="treeitem"
            data-path={row.path}
            aria-level={row.level}
            aria-expanded={row.isExpanded}
            aria-selected={row.path === selected}
            aria-disabled={!canOpen(row) || undefined}
            tabIndex={row.path === current ? 0 : -1}
            onClick={() => open(row)}
            onKeyDown={(event) => handleKey(event, row)}
            style={{ paddingInlineStart: indent(row.level) }}
            title={sanitize(row.entry.name)}
            className={clsx(
              "flex h-9 shrink-0 items-center gap-1.5 rounded-md pr-2 -outline-offset-2 sm:h-8",
              "[contain-intrinsic-size:auto_2rem] [content-visibility:auto]",
              canOpen(row) ? "cursor-pointer hover:bg-raised" : "text-muted",
              row.path === selected && "bg-raised font-medium",
            )}
          >
            <EntryIcon row={row} />
            <span className="min-w-0 flex-1 truncate">
              {sanitize(row.entry.name)}
              {row.entry.type in kinds && <span className="sr-only"> {kinds[row.entry.type]}</span>}
            </span>
            {row.entry.size_bytes !== undefined && (
              <span className="shrink-0 text-xs text-muted tabular-nums">
                {formatBytes(row.entry.size_bytes)}
              </span>
            )}
          </div>
        ),
      )}
    </div>
  );
}

const indent = (level: number) => `${0.5 + (level - 1) * 0.875}rem`;

function EntryIcon({ row: { entry, isExpanded } }: { row: EntryRow }) {
  const className = "size-3.5 shrink-0 text-muted";
  if (entry.type === "folder") {
    const Icon = isExpanded ? FolderOpen : Folder;
    return (
      <>
        <ChevronRight
          className={clsx("size-3.5 shrink-0 text-muted transition-transform", isExpanded && "rotate-90")}
          aria-hidden
        />
        <Icon className={className} aria-hidden />
      </>
    );
  }
  const Icon = entry.type === "link" ? Link2 : entry.type === "other" ? Plug : File;
  return <Icon className={clsx(className, "ml-5")} aria-hidden />;
}
