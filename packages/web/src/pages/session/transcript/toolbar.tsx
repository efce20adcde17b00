import clsx from "clsx";
import { ChevronDown, ChevronUp, Search as SearchSign, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useShortcut } from "../../../shell/shortcuts.ts";
import { count } from "../../../ui/amount.ts";
import { IconButton } from "../../../ui/button.tsx";
import { Select, TextInput } from "../../../ui/field.tsx";
import { type Filter, filters } from "./filter.ts";
import type { Search } from "./search.ts";

interface ToolbarProps {
  filter: Filter;
  onFilter: (filter: Filter) => void;
  turns: number;
  failures: number;
  onFailure: (step: -1 | 1) => void;
  query: string;
  onQuery: (query: string) => void;
  search: Search;
  /** Which hit the reader is at, from 0; -1 before the first. */
  hit: number;
  onHit: (step: -1 | 1) => void;
  lastSeq: number;
}

/** Always in sight: what is shown, and what is looked for. */
export function Toolbar(props: ToolbarProps) {
  const { filter, onFilter, turns, failures, onFailure } = props;
  useShortcut({ keys: "[", what: "Previous error", run: () => onFailure(-1) });
  useShortcut({ keys: "]", what: "Next error", run: () => onFailure(1) });
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2 border-b border-line bg-canvas px-4 py-2">
      <fieldset className="-mx-1 flex min-w-0 items-center max-sm:flex-1 gap-0.5 overflow-x-auto px-1 py-0.5">
        <legend className="sr-only">Show</legend>
        {filters.map(({ name, label }) => (
          <button
            key={name}
            type="button"
            aria-pressed={filter.name === name}
            onClick={() => onFilter({ ...filter, name })}
            className={clsx(
              "h-7 shrink-0 rounded-md px-2 text-xs font-medium whitespace-nowrap max-sm:h-9",
              filter.name === name ? "bg-pressed text-ink" : "text-muted hover:bg-raised hover:text-ink",
            )}
          >
            {label}
            {name === "failed" && failures > 0 && (
              <span className="ml-1 text-bad tabular-nums">{count(failures)}</span>
            )}
          </button>
        ))}
      </fieldset>
      {failures > 0 && (
        <div className="flex items-center max-sm:hidden">
          <IconButton
            small
            label="Previous error"
            icon={<ChevronUp className="size-4" aria-hidden />}
            onClick={() => onFailure(-1)}
          />
          <IconButton
            small
            label="Next error"
            icon={<ChevronDown className="size-4" aria-hidden />}
            onClick={() => onFailure(1)}
          />
        </div>
      )}
      {turns > 1 && (
        <Select
          aria-label="Turn"
          value={filter.turn}
          onChange={(event) => onFilter({ ...filter, turn: Number(event.target.value) })}
          className="h-7! w-auto! py-0 text-xs! max-sm:h-9!"
        >
          <option value={0}>All turns</option>
          {Array.from({ length: turns }, (_, index) => index + 1).map((turn) => (
            <option key={turn} value={turn}>
              Turn {turn}
            </option>
          ))}
        </Select>
      )}
      <SearchBox {...props} />
    </div>
  );
}

function SearchBox({ query, onQuery, search, hit, onHit, lastSeq }: ToolbarProps) {
  const input = useRef<HTMLInputElement>(null);
  useShortcut({ keys: "/", what: "Search in the transcript", run: () => input.current?.focus() });
  const isAsked = query.trim() !== "";
  // On a phone the box has a row of its own, which is only there while somebody searches.
  const [isWanted, setWanted] = useState(false);
  useEffect(() => {
    if (isWanted) input.current?.focus();
  }, [isWanted]);
  if (!isWanted && !isAsked && isNarrow())
    return (
      <IconButton
        label="Search in the transcript"
        className="ml-auto"
        icon={<SearchSign className="size-4" aria-hidden />}
        onClick={() => setWanted(true)}
      />
    );
  return (
    // biome-ignore lint/a11y/useSemanticElements: the element of that name is unknown to half of the screen readers.
    <div role="search" className="flex min-w-48 flex-1 items-center justify-end gap-1 max-sm:basis-full">
      <span role="status" className="text-xs whitespace-nowrap text-muted tabular-nums">
        {isAsked && wordsOf(search, hit, lastSeq)}
      </span>
      {isAsked && (
        <>
          <IconButton
            small
            label="Previous hit"
            disabled={search.hits.length === 0}
            icon={<ChevronUp className="size-4" aria-hidden />}
            onClick={() => onHit(-1)}
          />
          <IconButton
            small
            label="Next hit"
            disabled={search.hits.length === 0}
            icon={<ChevronDown className="size-4" aria-hidden />}
            onClick={() => onHit(1)}
          />
          <IconButton
            small
            label="End the search"
            icon={<X className="size-4" aria-hidden />}
            onClick={() => onQuery("")}
          />
        </>
      )}
      <div className="relative w-full sm:max-w-56">
        <SearchSign
          className="pointer-events-none absolute top-1/2 left-2 size-3.5 -translate-y-1/2 text-muted"
          aria-hidden
        />
        <TextInput
          ref={input}
          type="search"
          aria-label="Search in the transcript"
          placeholder="Search"
          value={query}
          onChange={(event) => onQuery(event.target.value)}
          onBlur={() => setWanted(false)}
          onKeyDown={(event) => {
            if (event.key === "Enter") onHit(event.shiftKey ? -1 : 1);
            if (event.key === "Escape") {
              onQuery("");
              event.currentTarget.blur();
            }
          }}
          className="h-7! pl-7! text-xs! max-sm:h-9! [&::-webkit-search-cancel-button]:hidden"
        />
      </div>
    </div>
  );
}

function isNarrow(): boolean {
  return matchMedia("(max-width: 40rem)").matches;
}

function wordsOf(
  { hits, isDone, hasMore, hasFailed, searched }: Search,
  hit: number,
  lastSeq: number,
): string {
  if (hasFailed) return "The search broke off";
  if (hits.length === 0) {
    if (!isDone || searched === 0)
      return `Searching ${Math.round((100 * searched) / Math.max(1, lastSeq))} %`;
    return "Not found";
  }
  const all = `${hits.length.toLocaleString()}${hasMore || !isDone ? "+" : ""}`;
  return hit < 0 ? all : `${hit + 1} of ${all}`;
}
