import { Link } from "@tanstack/react-router";
import { ArrowDown, ArrowUp } from "lucide-react";
import type { Column } from "./columns.tsx";
import { orderOf, type RunsSearch } from "./search.ts";
import type { Selection } from "./selection.ts";

interface TableHeadProps {
  columns: readonly Column[];
  template: string;
  search: RunsSearch;
  selection: Selection;
  order: readonly string[];
}

export function TableHead({ columns, template, search, selection, order }: TableHeadProps) {
  const isAll = order.length > 0 && order.every((id) => selection.ids.has(id));
  return (
    // biome-ignore lint/a11y/useSemanticElements: the table is not a table element.
    <div role="rowgroup" className="sticky top-0 z-20 rounded-t-xl border-b border-line bg-surface">
      {/* biome-ignore lint/a11y/useSemanticElements: as above. */}
      {/* biome-ignore lint/a11y/useFocusableInteractive: the header row is not interactive. */}
      <div
        role="row"
        className="grid h-9 items-center gap-x-3 px-3 text-xs font-medium text-muted"
        style={{ gridTemplateColumns: template }}
      >
        {/* biome-ignore lint/a11y/useSemanticElements: as above. */}
        {/* biome-ignore lint/a11y/useFocusableInteractive: the checkbox inside is focusable. */}
        <div role="columnheader" className="flex">
          <label className="grid size-8 shrink-0 place-items-center">
            <span className="sr-only">Select all loaded runs</span>
            <input
              type="checkbox"
              className="size-4 accent-accent"
              checked={isAll}
              onChange={() => (isAll ? selection.clear() : selection.setAll(order))}
            />
          </label>
        </div>
        {columns.map((column) => (
          <Head key={column.id} column={column} search={search} />
        ))}
      </div>
    </div>
  );
}

function Head({ column: { label, sort }, search }: { column: Column; search: RunsSearch }) {
  const order = orderOf(search);
  const isSorted = sort !== undefined && order.by === sort;
  const other = order.order === "asc" ? "desc" : "asc";
  const next = isSorted ? other : orderOf({ sort: sort ?? "created_at" }).order;
  const Arrow = order.order === "asc" ? ArrowUp : ArrowDown;
  const direction = order.order === "asc" ? "ascending" : "descending";
  return (
    // biome-ignore lint/a11y/useSemanticElements: as above.
    // biome-ignore lint/a11y/useFocusableInteractive: the link inside is focusable.
    <div role="columnheader" aria-sort={isSorted ? direction : undefined} className="min-w-0 truncate">
      {sort ? (
        <Link
          to="/runs"
          search={{ ...search, sort, order: next }}
          resetScroll={false}
          className="inline-flex items-center gap-1 rounded py-1 hover:text-ink"
          title={`Sort by ${label.toLowerCase()}`}
        >
          {label}
          {isSorted && <Arrow className="size-3.5" aria-hidden />}
        </Link>
      ) : (
        label
      )}
    </div>
  );
}
