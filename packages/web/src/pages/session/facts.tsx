import type { RunItem } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { queries } from "../../queries.ts";
import { dollars } from "../../ui/amount.ts";
import { Duration, Time } from "../../ui/time.tsx";

export const sourceWords: Record<RunItem["source"], string> = {
  WEB_APP: "web app",
  CLI: "command line",
  GITHUB_ACTION: "GitHub action",
  API: "API",
};

/** One line about the run: where, with what, how long, what it cost, and who asked for it. */
export function Facts({ run }: { run: RunItem }) {
  const { environment_id, model_id } = run.agent_config;
  const isOver = run.finished_at !== undefined;
  return (
    <dl className="flex flex-wrap items-center gap-x-4 gap-y-1 text-xs text-muted">
      <Fact name="Environment">
        {environment_id ? <EnvironmentName id={environment_id} /> : "empty workspace"}
      </Fact>
      {model_id && <Fact name="Model">{model_id}</Fact>}
      <Fact name={run.started_at ? (run.turns > 1 ? "Last turn" : "Duration") : "Waiting for"}>
        <Duration from={run.started_at ?? run.created_at} to={isOver ? run.finished_at : undefined} />
      </Fact>
      <Fact name="Cost">{dollars(run.usage.cost_usd)}</Fact>
      <Fact name="By">
        {run.creator.display_name} · {sourceWords[run.source]}
      </Fact>
      <Fact name="Created">
        <Time at={run.created_at} />
      </Fact>
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex min-w-0 items-baseline gap-1">
      <dt>{name}</dt>
      <dd className="min-w-0 truncate text-ink">{children}</dd>
    </div>
  );
}

function EnvironmentName({ id }: { id: string }) {
  const { data, isError } = useQuery(queries.environment(id));
  if (isError) return "deleted environment";
  return (
    <Link to="/environments/$environmentId" params={{ environmentId: id }} className="hover:underline">
      {data?.name ?? "…"}
    </Link>
  );
}
