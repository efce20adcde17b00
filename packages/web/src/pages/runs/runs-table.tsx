import type { RunItem } from "@outrider/sdk";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import clsx from "clsx";
import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";
import { type Column, fitColumns, gridTemplate, type Names } from "./columns.tsx";
import { RunRow } from "./run-row.tsx";
import type { RunsSearch } from "./search.ts";
import type { Selection } from "./selection.ts";
import { TableHead } from "./table-head.tsx";

const ROW = 44;
const CARD = 84;
/** Below this width in pixels, rows become cards. */
const NARROW = 600;
/** The next page is loaded when this many rows remain. */
const LOAD_MORE_ROWS = 30;

export interface RunsTableProps {
  rows: RunItem[];
  columns: readonly Column[];
  names: Names;
  search: RunsSearch;
  selection: Selection;
  /** The row that keyboard shortcuts apply to. */
  cursor: number;
  onCursor: (index: number) => void;
  onNearEnd: (() => void) | undefined;
}

/** Shows a virtualized table, which renders only visible rows. On narrow screens, each row is a card. */
export function RunsTable(props: RunsTableProps) {
  const { rows, columns: allColumns, names, search, selection, cursor, onCursor, onNearEnd } = props;
  const body = useRef<HTMLDivElement>(null);
  const { offset, width } = useTablePosition(body);
  const isNarrow = width > 0 && width < NARROW;
  const columns = fitColumns(allColumns, width || Number.POSITIVE_INFINITY);
  const height = isNarrow ? CARD : ROW;
  const virtualizer = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => height,
    overscan: 12,
    scrollMargin: offset,
    getItemKey: (index) => rows[index]?.run_id ?? index,
    // The padding accounts for the sticky header and for the navigation bar on phones.
    scrollPaddingStart: 56,
    scrollPaddingEnd: 72,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows are measured again when the height changes.
  useEffect(() => virtualizer.measure(), [height]);

  const items = virtualizer.getVirtualItems();
  const last = items.at(-1)?.index ?? -1;
  useEffect(() => {
    if (last >= rows.length - LOAD_MORE_ROWS) onNearEnd?.();
  }, [last, rows.length, onNearEnd]);

  useFocusedRow(cursor, body, virtualizer.scrollToIndex);

  const template = gridTemplate(columns);
  const order = rows.map(({ run_id }) => run_id);
  return (
    // biome-ignore lint/a11y/useSemanticElements: absolutely positioned rows cannot be part of a table element.
    <div
      role="table"
      aria-label="Runs"
      aria-rowcount={-1}
      className="rounded-xl border border-line bg-surface"
    >
      {!isNarrow && (
        <TableHead
          columns={columns}
          template={template}
          search={search}
          selection={selection}
          order={order}
        />
      )}
      {/* biome-ignore lint/a11y/useSemanticElements: as above. */}
      <div
        role="rowgroup"
        ref={body}
        className={clsx("relative overflow-clip", isNarrow ? "rounded-xl" : "rounded-b-xl")}
        style={{ height: virtualizer.getTotalSize() }}
      >
        {items.map(({ index, key, start, size }) => {
          const run = rows[index];
          if (!run) return null;
          return (
            <RunRow
              key={key}
              {...{ run, index, columns, names, template, isNarrow }}
              isSelected={selection.ids.has(run.run_id)}
              onSelect={(isRange) =>
                isRange ? selection.extend(run.run_id, order) : selection.toggle(run.run_id)
              }
              onFocus={() => onCursor(index)}
              top={start - virtualizer.options.scrollMargin}
              height={size}
            />
          );
        })}
      </div>
    </div>
  );
}

/** Measures the table's offset and width, which change with the bars above it. */
function useTablePosition(body: RefObject<HTMLElement | null>) {
  const [position, setPosition] = useState({ offset: 0, width: 0 });
  useLayoutEffect(() => {
    const measure = () => {
      if (!body.current) return;
      const { top, width } = body.current.getBoundingClientRect();
      const offset = Math.round(top + scrollY);
      setPosition((before) =>
        before.offset === offset && before.width === width ? before : { offset, width },
      );
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, [body]);
  return position;
}

/** Focuses the row at the cursor. Scrolls there first, because only visible rows exist. */
function useFocusedRow(
  cursor: number,
  body: RefObject<HTMLElement | null>,
  scrollTo: (index: number) => void,
) {
  useEffect(() => {
    if (cursor < 0) return;
    const find = () => body.current?.querySelector<HTMLElement>(`[data-index="${cursor}"] a`);
    if (find()?.contains(document.activeElement)) return;
    if (body.current?.querySelector(`[data-index="${cursor}"]`)?.contains(document.activeElement)) return;
    scrollTo(cursor);
    const frame = requestAnimationFrame(() => find()?.focus({ preventScroll: true }));
    return () => cancelAnimationFrame(frame);
  }, [cursor, body, scrollTo]);
}
