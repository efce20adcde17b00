import type { RunItem } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import clsx from "clsx";
import { type ReactNode, useState } from "react";
import { useHarnessTitles } from "../../harnesses/harnesses.ts";
import { queries } from "../../queries.ts";
import { formatDollars } from "../../ui/format/numbers.ts";
import { Duration, Time } from "../../ui/format/time.tsx";
import { RunDuration } from "../runs/run-duration.tsx";
import { sourceLabels } from "../runs/search.ts";

/**
 * Shows the run's environment, harness, model, duration, cost and creator on one line. On phones, most of them are hidden
 * until the user asks for them, so that they leave room for the transcript.
 */
export function RunDetails({ run }: { run: RunItem }) {
  const { environment_id, model_id } = run.agent_config;
  const harness = useHarnessTitles()(run.agent_config.harness);
  const [isWhole, setWhole] = useState(false);
  const rare = isWhole ? "" : "max-sm:hidden";
  const isWaiting = run.state === "QUEUED" && !run.started_at;
  return (
    <div className="flex items-start gap-2">
      <dl className="flex min-w-0 flex-1 flex-wrap items-center gap-x-4 gap-y-1 text-xs text-muted">
        <Detail name="Environment" className={rare}>
          {environment_id ? <EnvironmentName id={environment_id} /> : "Empty workspace"}
        </Detail>
        {harness && (
          <Detail name="Harness" className={rare}>
            {[harness, run.receipt?.harness?.version].filter(Boolean).join(" ")}
          </Detail>
        )}
        {model_id && (
          <Detail name="Model" className={rare}>
            {model_id}
          </Detail>
        )}
        {isWaiting && run.turns === 1 ? (
          <Detail name="Queued for">
            <Duration from={run.created_at} />
          </Detail>
        ) : (
          <Detail name="Duration">
            <RunDuration run={run} />
          </Detail>
        )}
        <Detail name="Cost">{formatDollars(run.usage.cost_usd)}</Detail>
        {run.pull_requests?.map(({ url, repository, number, branch }) => (
          <Detail key={url} name="Branch" className={rare}>
            <span title={`${repository} #${number}`}>{branch}</span>
          </Detail>
        ))}
        <Detail name="By" className={rare}>
          {run.creator.display_name} · {sourceLabels[run.source]}
        </Detail>
        <Detail name="Created" className={rare}>
          <Time at={run.created_at} />
        </Detail>
      </dl>
      <button
        type="button"
        aria-expanded={isWhole}
        onClick={() => setWhole(!isWhole)}
        className="-my-1 shrink-0 rounded-md px-1 py-1 text-xs font-medium text-muted hover:text-ink sm:hidden"
      >
        {isWhole ? "Less" : "Details"}
      </button>
    </div>
  );
}

interface DetailProps {
  name: string;
  className?: string;
  children: ReactNode;
}

function Detail({ name, className, children }: DetailProps) {
  return (
    <div className={clsx("flex min-w-0 items-baseline gap-1", className)}>
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
