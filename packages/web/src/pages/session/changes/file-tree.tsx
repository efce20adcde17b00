import { useVirtualizer } from "@tanstack/react-virtual";
import clsx from "clsx";
import { Check, ChevronDown, ChevronRight, Search } from "lucide-react";
import { useMemo, useRef, useState } from "react";
import { Counts } from "../../../ui/diff/counts.tsx";
import type { PatchFile } from "../../../ui/diff/patch.ts";
import { sanitize } from "../../../ui/text/sanitize.ts";
import { type Folder, rowsIn, type TreeRow, treeOf } from "./tree.ts";

interface FileTreeProps {
  files: readonly PatchFile[];
  selected?: PatchFile | undefined;
  isViewed: (path: string) => boolean;
  onSelect: (file: PatchFile) => void;
}

/** With this many files, a field filters them by name. */
const MIN_FILTERED = 10;

/** Shows the changed files as a tree of folders. Only visible rows are rendered. */
export function FileTree({ files, selected, isViewed, onSelect }: FileTreeProps) {
  const [filter, setFilter] = useState("");
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const rows = useMemo(() => {
    const wanted = filter.trim().toLowerCase();
    const found = wanted ? files.filter(({ path }) => path.toLowerCase().includes(wanted)) : files;
    return rowsIn(treeOf(found), wanted ? new Set() : closed);
  }, [files, filter, closed]);
  const toggle = ({ path }: Folder) => {
    const next = new Set(closed);
    if (!next.delete(path)) next.add(path);
    setClosed(next);
  };
  const scroller = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 32,
    overscan: 10,
  });
  return (
    <nav
      aria-label="Changed files"
      className="mb-4 flex max-h-60 flex-col self-start rounded-lg border border-line bg-surface lg:sticky lg:top-0 lg:max-h-[calc(100dvh-18rem)]"
    >
      {files.length >= MIN_FILTERED && (
        <label className="flex h-9 shrink-0 items-center gap-2 border-b border-line px-3 focus-within:outline-2 focus-within:-outline-offset-2 focus-within:outline-accent">
          <Search className="size-3.5 shrink-0 text-muted" aria-hidden />
          <input
            type="search"
            value={filter}
            onChange={({ target }) => setFilter(target.value)}
            placeholder="Filter files"
            aria-label="Filter files"
            className="w-full min-w-0 bg-transparent outline-none"
          />
        </label>
      )}
      <div ref={scroller} className="min-h-0 overflow-y-auto p-1">
        {rows.length === 0 && <p className="px-2 py-1.5 text-muted">No files match.</p>}
        <ul className="relative" style={{ height: `${list.getTotalSize()}px` }}>
          {list.getVirtualItems().map(({ index, start }) => {
            const row = rows[index];
            return (
              row && (
                <li
                  key={row.file ? row.file.path : `${row.folder.path}/`}
                  className="absolute inset-x-0 h-8"
                  style={{ top: `${start}px` }}
                >
                  <Row
                    row={row}
                    isSelected={row.file !== undefined && row.file === selected}
                    isViewed={row.file !== undefined && isViewed(row.file.path)}
                    onSelect={onSelect}
                    onToggle={toggle}
                  />
                </li>
              )
            );
          })}
        </ul>
      </div>
    </nav>
  );
}

interface RowProps {
  row: TreeRow;
  isSelected: boolean;
  isViewed: boolean;
  onSelect: (file: PatchFile) => void;
  onToggle: (folder: Folder) => void;
}

const button =
  "flex h-8 w-full items-center gap-1.5 rounded-md pr-2 text-left hover:bg-raised -outline-offset-2";

function Row({ row, isSelected, isViewed, onSelect, onToggle }: RowProps) {
  const indent = { paddingLeft: `${0.5 + row.depth * 0.875}rem` };
  if (!row.file) {
    const Icon = row.isOpen ? ChevronDown : ChevronRight;
    return (
      <button
        type="button"
        aria-expanded={row.isOpen}
        onClick={() => onToggle(row.folder)}
        className={clsx(button, "text-muted")}
        style={indent}
      >
        <Icon className="size-3.5 shrink-0" aria-hidden />
        <span className="min-w-0 truncate" title={sanitize(row.folder.path)}>
          {sanitize(row.folder.name)}
        </span>
      </button>
    );
  }
  const { file } = row;
  return (
    <button
      type="button"
      aria-current={isSelected || undefined}
      onClick={() => onSelect(file)}
      className={clsx(button, isSelected && "bg-accent-soft text-accent-ink")}
      style={indent}
    >
      <span
        className={clsx(
          "min-w-0 flex-1 truncate",
          isViewed && "text-muted",
          file.kind === "deleted" && "line-through",
        )}
        title={sanitize(file.path)}
      >
        {sanitize(file.path.slice(file.path.lastIndexOf("/") + 1))}
      </span>
      {isViewed && (
        <>
          <Check className="size-3.5 shrink-0 text-good" aria-hidden />
          <span className="sr-only">viewed</span>
        </>
      )}
      <Counts {...file} />
    </button>
  );
}
