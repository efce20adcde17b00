import type { RunItem } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { queries } from "../../queries.ts";
import { dollars } from "../../ui/amount.ts";
import { buttonClass } from "../../ui/button.tsx";
import { RunState } from "../../ui/run-state.tsx";
import { Time } from "../../ui/time.tsx";
import { visible, visibleLine } from "../../ui/visible.ts";
import { RunDuration } from "../runs/run-duration.tsx";

/** A run in one or two lines: its state, what it is about, and where it wants somebody, why. */
export function RunLine({ run }: { run: RunItem }) {
  const { data: environments } = useQuery(queries.environments());
  const { run_id, title, state, phase, status_message: message, agent_config: config } = run;
  const environment = environments?.find(({ environment_id }) => environment_id === config.environment_id);
  const isFailed = state === "FAILED";
  const isBlocked = state === "BLOCKED";
  return (
    <li className="relative flex items-start gap-3 px-4 py-3 hover:bg-raised/60">
      <div className="min-w-0 flex-1">
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <RunState state={state} phase={phase} />
          <Link
            to="/runs/$runId"
            params={{ runId: run_id }}
            className="min-w-0 truncate font-medium after:absolute after:inset-0 max-sm:w-full"
          >
            {visibleLine(title)}
          </Link>
        </div>
        {message && (isFailed || isBlocked) && (
          <p
            className={isFailed ? "mt-1 line-clamp-2 break-words text-bad" : "mt-1 line-clamp-3 break-words"}
          >
            {visible(message.message)}
          </p>
        )}
        <p className="mt-1 flex flex-wrap gap-x-3 text-xs text-muted">
          {environment && <span>{environment.name}</span>}
          <span>{run.creator.display_name}</span>
          <RunDuration run={run} />
          {run.usage.cost_usd > 0 && <span className="tabular-nums">{dollars(run.usage.cost_usd)}</span>}
          <Time at={run.updated_at} />
        </p>
      </div>
      {isBlocked && (
        <Link
          to="/runs/$runId"
          params={{ runId: run_id }}
          className={`${buttonClass()} relative`}
          aria-label={`Answer ${visibleLine(title)}`}
        >
          Answer
        </Link>
      )}
    </li>
  );
}
