import type { RunItem } from "@outrider/sdk";
import { Link } from "@tanstack/react-router";
import clsx from "clsx";
import { memo } from "react";
import { Badge } from "../../ui/badge.tsx";
import { formatDollars } from "../../ui/format/numbers.ts";
import { Time } from "../../ui/format/time.tsx";
import { PullRequestBadges } from "../../ui/pull-request-badge.tsx";
import { RunState } from "../../ui/run-state.tsx";
import { sanitizeLine } from "../../ui/text/sanitize.ts";
import type { Column, Names } from "./columns.tsx";
import { RunDuration } from "./run-duration.tsx";

interface RunRowProps {
  run: RunItem;
  index: number;
  columns: readonly Column[];
  names: Names;
  template: string;
  isNarrow: boolean;
  isSelected: boolean;
  onSelect: (isRange: boolean) => void;
  onFocus: () => void;
  top: number;
  height: number;
}

/** Shows a table row. The title's link covers the whole row, so that the row behaves like any other link. */
export function RunRow(props: RunRowProps) {
  const { run, index, columns, template, isNarrow, isSelected, onSelect, onFocus, top, height } = props;
  const hasHarness = columns.some(({ id }) => id === "harness");
  return (
    // biome-ignore lint/a11y/useSemanticElements: rows are positioned absolutely.
    // biome-ignore lint/a11y/useFocusableInteractive: the link inside is focusable.
    <div
      role="row"
      data-index={index}
      aria-selected={isSelected}
      onFocus={onFocus}
      style={{
        height,
        transform: `translateY(${top}px)`,
        ...(isNarrow ? {} : { gridTemplateColumns: template }),
      }}
      className={clsx(
        "absolute inset-x-0 top-0 items-center border-line not-last:border-b px-3 hover:bg-raised/60 focus-within:bg-raised/60",
        isNarrow ? "flex gap-2" : "grid gap-x-3",
        isSelected && "bg-accent-soft!",
      )}
    >
      {/* biome-ignore lint/a11y/useSemanticElements: as above. */}
      <div role="cell" className="relative z-10">
        <label className="grid size-9 place-items-center md:size-8">
          <span className="sr-only">Select {sanitizeLine(run.title)}</span>
          <input
            type="checkbox"
            className="size-4 accent-accent"
            checked={isSelected}
            onChange={({ nativeEvent }) => onSelect((nativeEvent as unknown as MouseEvent).shiftKey === true)}
          />
        </label>
      </div>
      {isNarrow ? (
        <Card run={run} names={props.names} />
      ) : (
        columns.map((column) => (
          // biome-ignore lint/a11y/useSemanticElements: as above.
          <div key={column.id} role="cell" className="min-w-0 truncate">
            {column.id === "title" ? (
              <Title
                run={run}
                harness={hasHarness ? undefined : props.names.harness(run.agent_config.harness)}
              />
            ) : (
              column.cell(run, props.names)
            )}
          </div>
        ))
      )}
    </div>
  );
}

/**
 * Shows the title and the pull requests, with the harness as a label unless it is the built-in one or has its own column.
 */
function Title({ run, harness }: { run: RunItem; harness: string | undefined }) {
  if (!harness && !run.pull_requests?.length) return <RunLink run={run} />;
  return (
    <span className="flex items-center gap-2">
      <span className="truncate">
        <RunLink run={run} />
      </span>
      <PullRequestBadges of={run.pull_requests} />
      {harness && <Badge>{harness}</Badge>}
    </span>
  );
}

const RunLink = memo(({ run: { run_id, title } }: { run: RunItem }) => (
  <Link
    to="/runs/$runId"
    params={{ runId: run_id }}
    preload={false}
    title={sanitizeLine(title)}
    className="font-medium outline-none after:absolute after:inset-0 focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
  >
    {sanitizeLine(title)}
  </Link>
));

function Card({ run, names }: { run: RunItem; names: Names }) {
  const { state, phase, usage, agent_config: config, created_at } = run;
  const environment = names.environment(config.environment_id);
  const harness = names.harness(config.harness);
  return (
    // biome-ignore lint/a11y/useSemanticElements: as above.
    <div role="cell" className="min-w-0 flex-1">
      <p className="truncate">
        <RunLink run={run} />
      </p>
      <p className="mt-1 flex items-center gap-2">
        <RunState state={state} phase={phase} />
        <PullRequestBadges of={run.pull_requests} />
        <span className="flex-1" />
        <Time at={created_at} className="text-xs text-muted" />
      </p>
      <p className="mt-0.5 flex gap-x-3 overflow-hidden text-xs whitespace-nowrap text-muted">
        <RunDuration run={run} />
        {usage.cost_usd > 0 && <span className="tabular-nums">{formatDollars(usage.cost_usd)}</span>}
        {harness && <span className="truncate">{harness}</span>}
        {environment && <span className="truncate">{environment}</span>}
        <span className="truncate">{run.creator.display_name}</span>
      </p>
    </div>
  );
}
