import clsx from "clsx";
import {
  ChevronDown,
  ChevronsDownUp,
  ChevronsUpDown,
  ChevronUp,
  Search as SearchIcon,
  X,
} from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useShortcut } from "../../../frame/shortcuts.ts";
import { IconButton } from "../../../ui/button.tsx";
import { Select, TextInput } from "../../../ui/form/field.tsx";
import { formatCount } from "../../../ui/format/numbers.ts";
import { type Filter, filters } from "./filter.ts";
import type { Search } from "./search.ts";

interface ToolbarProps {
  filter: Filter;
  onFilter: (filter: Filter) => void;
  turns: number;
  failures: number;
  onFailure: (step: -1 | 1) => void;
  areAllOpen: boolean | undefined;
  onToggleAll: () => void;
  /** Moves the focus to the next or previous block. */
  onBlock: (step: -1 | 1) => void;
  query: string;
  onQuery: (query: string) => void;
  search: Search;
  /** The index of the current match, or -1 before the first match is selected. */
  match: number;
  onMatch: (step: -1 | 1) => void;
  lastSeq: number;
}

/** Shows the transcript's filters and search. */
export function Toolbar(props: ToolbarProps) {
  const { filter, onFilter, turns, failures, onFailure, areAllOpen, onToggleAll, onBlock } = props;
  const toggleLabel = areAllOpen ? "Collapse all" : "Expand all";
  const ToggleIcon = areAllOpen ? ChevronsDownUp : ChevronsUpDown;
  useShortcut({ keys: "j", what: "Next block", run: () => onBlock(1) });
  useShortcut({ keys: "k", what: "Previous block", run: () => onBlock(-1) });
  useShortcut({ keys: "e", what: toggleLabel, run: onToggleAll });
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
              <span className="ml-1 text-bad tabular-nums">{formatCount(failures)}</span>
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
      <IconButton
        small
        className="max-sm:size-9!"
        label={toggleLabel}
        icon={<ToggleIcon className="size-4" aria-hidden />}
        onClick={onToggleAll}
      />
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

function SearchBox({ query, onQuery, search, match, onMatch, lastSeq }: ToolbarProps) {
  const input = useRef<HTMLInputElement>(null);
  useShortcut({ keys: "/", what: "Search transcript", run: () => input.current?.focus() });
  const isAsked = query.trim() !== "";
  // On phones, the search box has its own row, which is shown only while the user is searching.
  const [isWanted, setWanted] = useState(false);
  useEffect(() => {
    if (isWanted) input.current?.focus();
  }, [isWanted]);
  if (!isWanted && !isAsked && isNarrow())
    return (
      <IconButton
        label="Search transcript"
        className="ml-auto"
        icon={<SearchIcon className="size-4" aria-hidden />}
        onClick={() => setWanted(true)}
      />
    );
  return (
    // biome-ignore lint/a11y/useSemanticElements: many screen readers do not support the search element.
    <div role="search" className="flex min-w-48 flex-1 items-center justify-end gap-1 max-sm:basis-full">
      <span role="status" className="text-xs whitespace-nowrap text-muted tabular-nums">
        {isAsked && searchStatus(search, match, lastSeq)}
      </span>
      {isAsked && (
        <>
          <IconButton
            small
            label="Previous match"
            disabled={search.matches.length === 0}
            icon={<ChevronUp className="size-4" aria-hidden />}
            onClick={() => onMatch(-1)}
          />
          <IconButton
            small
            label="Next match"
            disabled={search.matches.length === 0}
            icon={<ChevronDown className="size-4" aria-hidden />}
            onClick={() => onMatch(1)}
          />
          <IconButton
            small
            label="Clear search"
            icon={<X className="size-4" aria-hidden />}
            onClick={() => onQuery("")}
          />
        </>
      )}
      <div className="relative w-full sm:max-w-56">
        <SearchIcon
          className="pointer-events-none absolute top-1/2 left-2 size-3.5 -translate-y-1/2 text-muted"
          aria-hidden
        />
        <TextInput
          ref={input}
          type="search"
          aria-label="Search transcript"
          placeholder="Search"
          value={query}
          onChange={(event) => onQuery(event.target.value)}
          onBlur={() => setWanted(false)}
          onKeyDown={(event) => {
            if (event.key === "Enter") onMatch(event.shiftKey ? -1 : 1);
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

function searchStatus(
  { matches, isDone, hasMore, hasFailed, searched }: Search,
  match: number,
  lastSeq: number,
): string {
  if (hasFailed) return "Search failed";
  if (matches.length === 0) {
    if (!isDone || searched === 0)
      return `Searching ${Math.round((100 * searched) / Math.max(1, lastSeq))} %`;
    return "No matches";
  }
  const all = `${matches.length.toLocaleString()}${hasMore || !isDone ? "+" : ""}`;
  return match < 0 ? all : `${match + 1} of ${all}`;
}
