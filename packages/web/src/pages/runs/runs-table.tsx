import type { RunItem } from "@outrider/sdk";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import clsx from "clsx";
import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";
import { type Column, fitting, type Known, templateOf } from "./columns.tsx";
import { RunRow } from "./run-row.tsx";
import type { RunsSearch } from "./search.ts";
import type { Selection } from "./selection.ts";
import { TableHead } from "./table-head.tsx";

const ROW = 44;
const CARD = 84;
/** Narrower than this, in pixels, rows are cards. */
const NARROW = 600;
/** So near to the end the next page is asked for. */
const NEAR = 30;

export interface RunsTableProps {
  rows: RunItem[];
  columns: readonly Column[];
  known: Known;
  search: RunsSearch;
  selection: Selection;
  /** The row that the keys act on. */
  cursor: number;
  onCursor: (index: number) => void;
  onNearEnd: (() => void) | undefined;
}

/** Any number of rows, of which those in sight exist. Where it is narrow, each is a card. */
export function RunsTable(props: RunsTableProps) {
  const { rows, columns: wanted, known, search, selection, cursor, onCursor, onNearEnd } = props;
  const body = useRef<HTMLDivElement>(null);
  const { offset, width } = usePlace(body);
  const isNarrow = width > 0 && width < NARROW;
  const columns = fitting(wanted, width || Number.POSITIVE_INFINITY);
  const height = isNarrow ? CARD : ROW;
  const virtualizer = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => height,
    overscan: 12,
    scrollMargin: offset,
    getItemKey: (index) => rows[index]?.run_id ?? index,
    // The head and the phone's bar lie over what is behind them.
    scrollPaddingStart: 56,
    scrollPaddingEnd: 72,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: heights are asked for anew when they change.
  useEffect(() => virtualizer.measure(), [height]);

  const items = virtualizer.getVirtualItems();
  const last = items.at(-1)?.index ?? -1;
  useEffect(() => {
    if (last >= rows.length - NEAR) onNearEnd?.();
  }, [last, rows.length, onNearEnd]);

  useFocusOn(cursor, body, virtualizer.scrollToIndex);

  const template = templateOf(columns);
  const order = rows.map(({ run_id }) => run_id);
  return (
    // biome-ignore lint/a11y/useSemanticElements: rows that are positioned one by one cannot be those of a table element.
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
              {...{ run, index, columns, known, template, isNarrow }}
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

/** How far down the page the rows begin, and how wide they are; bars above them come and go. */
function usePlace(body: RefObject<HTMLElement | null>) {
  const [place, setPlace] = useState({ offset: 0, width: 0 });
  useLayoutEffect(() => {
    const look = () => {
      if (!body.current) return;
      const { top, width } = body.current.getBoundingClientRect();
      const offset = Math.round(top + scrollY);
      setPlace((before) => (before.offset === offset && before.width === width ? before : { offset, width }));
    };
    look();
    const observer = new ResizeObserver(look);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, [body]);
  return place;
}

/** Moving by keys brings the row into sight first: before that it may not exist. */
function useFocusOn(cursor: number, body: RefObject<HTMLElement | null>, scrollTo: (index: number) => void) {
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
