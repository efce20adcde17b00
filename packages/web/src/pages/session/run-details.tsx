import type { RunItem } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useHarnessTitles } from "../../harnesses/harnesses.ts";
import { queries } from "../../queries.ts";
import { formatDollars } from "../../ui/format/numbers.ts";
import { Duration, Time } from "../../ui/format/time.tsx";
import { sourceLabels } from "../runs/search.ts";

/** Shows the run's environment, harness, model, duration, cost and creator on one line. */
export function RunDetails({ run }: { run: RunItem }) {
  const { environment_id, model_id } = run.agent_config;
  const harness = useHarnessTitles()(run.agent_config.harness);
  const isOver = run.finished_at !== undefined;
  return (
    <dl className="flex flex-wrap items-center gap-x-4 gap-y-1 text-xs text-muted">
      <Detail name="Environment">
        {environment_id ? <EnvironmentName id={environment_id} /> : "Empty workspace"}
      </Detail>
      {harness && (
        <Detail name="Harness">{[harness, run.receipt?.harness?.version].filter(Boolean).join(" ")}</Detail>
      )}
      {model_id && <Detail name="Model">{model_id}</Detail>}
      <Detail name={run.started_at ? (run.turns > 1 ? "Last turn" : "Duration") : "Queued for"}>
        <Duration from={run.started_at ?? run.created_at} to={isOver ? run.finished_at : undefined} />
      </Detail>
      <Detail name="Cost">{formatDollars(run.usage.cost_usd)}</Detail>
      {run.pull_requests?.map(({ url, repository, number, branch }) => (
        <Detail key={url} name="Branch">
          <span title={`${repository} #${number}`}>{branch}</span>
        </Detail>
      ))}
      <Detail name="By">
        {run.creator.display_name} · {sourceLabels[run.source]}
      </Detail>
      <Detail name="Created">
        <Time at={run.created_at} />
      </Detail>
    </dl>
  );
}

function Detail({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex min-w-0 items-baseline gap-1">
      <dt>{name}</dt>
      <dd className="min-w-0 truncate text-ink">{children}</dd>
    </div>
  );
}

function EnvironmentName({ id }: { id: string }) {
  const { data, isError } = useQuery(queries.environment(id));
  if (isError) return "Deleted environment";
  return (
    <Link to="/environments/$environmentId" params={{ environmentId: id }} className="hover:underline">
      {data?.name ?? "…"}
    </Link>
  );
}
