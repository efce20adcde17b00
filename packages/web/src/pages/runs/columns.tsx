import type { RunItem } from "@outrider/sdk";
import type { ReactNode } from "react";
import { dollars } from "../../ui/amount.ts";
import { RunState } from "../../ui/run-state.tsx";
import { Time } from "../../ui/time.tsx";
import { RunDuration } from "./run-duration.tsx";
import { type Sort, sourceWords } from "./search.ts";

export interface Known {
  /** The name of an environment by its id. */
  environment: (id: string | undefined) => string | undefined;
}

export interface Column {
  id: string;
  label: string;
  /** Of the grid's track, in letters' heights: at least so much, and what part of the rest. */
  min: number;
  share?: number;
  sort?: Sort;
  /** Shown until the reader chooses otherwise. */
  usual: boolean;
  cell: (run: RunItem, known: Known) => ReactNode;
}

const none = <span className="text-muted">–</span>;

/** Title is first among equals: it is the link, and cannot be left out. */
export const columns: readonly Column[] = [
  {
    id: "state",
    label: "State",
    min: 10.5,
    usual: true,
    // A flexible box: else its sign would lift it off the row's baseline.
    cell: ({ state, phase }) => (
      <span className="flex">
        <RunState state={state} phase={phase} />
      </span>
    ),
  },
  { id: "title", label: "Title", min: 12, share: 3, sort: "title", usual: true, cell: ({ title }) => title },
  {
    id: "environment",
    label: "Environment",
    min: 5,
    share: 1,
    usual: true,
    cell: ({ agent_config }, known) => known.environment(agent_config.environment_id) ?? none,
  },
  {
    id: "creator",
    label: "Creator",
    min: 4.5,
    share: 1,
    usual: true,
    cell: ({ creator }) => creator.display_name,
  },
  { id: "source", label: "Source", min: 5.5, usual: true, cell: ({ source }) => sourceWords[source] },
  {
    id: "model",
    label: "Model",
    min: 5,
    share: 1,
    usual: false,
    cell: ({ agent_config }) => agent_config.model_id ?? none,
  },
  { id: "duration", label: "Duration", min: 6, usual: true, cell: (run) => <RunDuration run={run} /> },
  {
    id: "cost",
    label: "Cost",
    min: 4,
    usual: true,
    cell: ({ usage }) => <span className="tabular-nums">{dollars(usage.cost_usd)}</span>,
  },
  {
    id: "created",
    label: "Created",
    min: 6,
    sort: "created_at",
    usual: true,
    cell: ({ created_at }) => <Time at={created_at} />,
  },
  {
    id: "updated",
    label: "Updated",
    min: 6,
    sort: "updated_at",
    usual: false,
    cell: ({ updated_at }) => <Time at={updated_at} />,
  },
];

const GAP = 0.75;
const SELECT = 2;
/** How high the letters of the table are, in rem; its head has smaller ones and the same tracks. */
const LETTERS = 0.875;

/** Where there is no room, what says least goes first. Nobody has to scroll sideways. */
const leastFirst = ["updated", "source", "model", "creator", "environment", "cost", "created", "duration"];

export function fitting(wanted: readonly Column[], widthPx: number): readonly Column[] {
  const remPx = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  let shown = wanted;
  for (const id of leastFirst) {
    const needed = SELECT + 1.5 + shown.reduce((sum, { min }) => sum + min + GAP, 0);
    if (needed * LETTERS * remPx <= widthPx) break;
    shown = shown.filter((column) => column.id !== id);
  }
  return shown;
}

export function templateOf(shown: readonly Column[]): string {
  const wide = (letters: number) => `${letters * LETTERS}rem`;
  const tracks = shown.map(({ min, share }) => (share ? `minmax(${wide(min)}, ${share}fr)` : wide(min)));
  return [wide(SELECT), ...tracks].join(" ");
}
