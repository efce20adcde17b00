import type { RunItem } from "@outrider/sdk";
import type { ReactNode } from "react";
import { formatDollars } from "../../ui/format/numbers.ts";
import { Time } from "../../ui/format/time.tsx";
import { RunState } from "../../ui/run-state.tsx";
import { RunDuration } from "./run-duration.tsx";
import { type Sort, sourceLabels } from "./search.ts";

export interface Names {
  /** Returns an environment's name. */
  environment: (id: string | undefined) => string | undefined;
  /** Returns a harness's title. Undefined for the built-in harness. */
  harness: (name: string | undefined) => string | undefined;
}

export interface Column {
  id: string;
  label: string;
  /** The minimum width in em. `share` is the column's share of the remaining width. */
  min: number;
  share?: number;
  sort?: Sort;
  /** Whether the column is shown by default. */
  isDefault: boolean;
  cell: (run: RunItem, names: Names) => ReactNode;
}

const none = <span className="text-muted">–</span>;

/** The title column is always shown, because it contains the link to the run. */
export const columns: readonly Column[] = [
  {
    id: "state",
    label: "State",
    min: 10.5,
    isDefault: true,
    // The flex box prevents the icon from shifting the row's baseline.
    cell: ({ state, phase }) => (
      <span className="flex">
        <RunState state={state} phase={phase} />
      </span>
    ),
  },
  {
    id: "title",
    label: "Title",
    min: 12,
    share: 3,
    sort: "title",
    isDefault: true,
    cell: ({ title }) => title,
  },
  {
    id: "environment",
    label: "Environment",
    min: 5,
    share: 1,
    isDefault: true,
    cell: ({ agent_config }, names) => names.environment(agent_config.environment_id) ?? none,
  },
  {
    id: "creator",
    label: "Creator",
    min: 4.5,
    share: 1,
    isDefault: true,
    cell: ({ creator }) => creator.display_name,
  },
  { id: "source", label: "Source", min: 5.5, isDefault: true, cell: ({ source }) => sourceLabels[source] },
  {
    id: "model",
    label: "Model",
    min: 5,
    share: 1,
    isDefault: false,
    cell: ({ agent_config }) => agent_config.model_id ?? none,
  },
  {
    id: "harness",
    label: "Harness",
    min: 6,
    isDefault: false,
    cell: ({ agent_config }, names) => names.harness(agent_config.harness) ?? none,
  },
  {
    id: "duration",
    label: "Duration",
    min: 6,
    sort: "duration",
    isDefault: true,
    cell: (run) => <RunDuration run={run} />,
  },
  {
    id: "cost",
    label: "Cost",
    min: 4,
    sort: "cost",
    isDefault: true,
    cell: ({ usage }) => <span className="tabular-nums">{formatDollars(usage.cost_usd)}</span>,
  },
  {
    id: "created",
    label: "Created",
    min: 6,
    sort: "created_at",
    isDefault: true,
    cell: ({ created_at }) => <Time at={created_at} />,
  },
  {
    id: "updated",
    label: "Updated",
    min: 6,
    sort: "updated_at",
    isDefault: false,
    cell: ({ updated_at }) => <Time at={updated_at} />,
  },
];

const GAP = 0.75;
const SELECT = 2;
/** The table's font size in rem. The header has a smaller font but the same column widths. */
const FONT_SIZE = 0.875;

/** The order in which columns are hidden on narrow screens, so that the table never scrolls horizontally. */
const hideOrder = [
  "updated",
  "source",
  "harness",
  "model",
  "creator",
  "environment",
  "cost",
  "created",
  "duration",
];

export function fitColumns(wanted: readonly Column[], widthPx: number): readonly Column[] {
  const remPx = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  let shown = wanted;
  for (const id of hideOrder) {
    const needed = SELECT + 1.5 + shown.reduce((sum, { min }) => sum + min + GAP, 0);
    if (needed * FONT_SIZE * remPx <= widthPx) break;
    shown = shown.filter((column) => column.id !== id);
  }
  return shown;
}

export function gridTemplate(shown: readonly Column[]): string {
  const wide = (letters: number) => `${letters * FONT_SIZE}rem`;
  const tracks = shown.map(({ min, share }) => (share ? `minmax(${wide(min)}, ${share}fr)` : wide(min)));
  return [wide(SELECT), ...tracks].join(" ");
}
