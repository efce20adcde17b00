import type { RunItem } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useHarnessTitles } from "../../harnesses/harnesses.ts";
import { queries } from "../../queries.ts";
import { buttonClass } from "../../ui/button.tsx";
import { formatDollars } from "../../ui/format/numbers.ts";
import { Time } from "../../ui/format/time.tsx";
import { PullRequestBadges } from "../../ui/pull-request-badge.tsx";
import { RunState } from "../../ui/run-state.tsx";
import { InlineCode } from "../../ui/text/inline-code.tsx";
import { sanitize, sanitizeLine } from "../../ui/text/sanitize.ts";
import { RunDuration } from "../runs/run-duration.tsx";

/** Summarizes a run in a few lines: its state, its title, and why it needs attention. */
export function RunLine({ run, actions }: { run: RunItem; actions?: ReactNode }) {
  const { data: environments } = useQuery(queries.environments());
  const { run_id, title, state, phase, status_message: message, agent_config: config } = run;
  const environment = environments?.find(({ environment_id }) => environment_id === config.environment_id);
  const harness = useHarnessTitles()(config.harness);
  const isFailed = state === "FAILED";
  const isBlocked = state === "BLOCKED";
  const { data: published } = useQuery({ ...queries.publications(run_id), enabled: isBlocked });
  const isApproval =
    isBlocked && (published?.publications.some((each) => each.state === "AWAITING_APPROVAL") ?? false);
  return (
    <li className="relative flex items-start gap-x-3 px-4 py-3 hover:bg-raised/60 max-sm:flex-col">
      <div className="min-w-0 flex-1 max-sm:w-full">
        <div className="flex items-center gap-x-3 gap-y-1 max-sm:flex-wrap">
          <RunState state={state} phase={phase} />
          <Link
            to="/runs/$runId"
            params={{ runId: run_id }}
            title={sanitizeLine(title)}
            className="min-w-0 truncate font-medium after:absolute after:inset-0 max-sm:w-full"
          >
            {sanitizeLine(title)}
          </Link>
          <PullRequestBadges of={run.pull_requests} />
        </div>
        {message && (isFailed || isBlocked) && (
          <p
            className={isFailed ? "mt-1 line-clamp-2 break-words text-bad" : "mt-1 line-clamp-3 break-words"}
          >
            <InlineCode text={sanitize(message.message)} />
          </p>
        )}
        <p className="mt-1 flex flex-wrap gap-x-3 text-xs text-muted">
          {harness && <span>{harness}</span>}
          {environment && <span>{environment.name}</span>}
          <span>{run.creator.display_name}</span>
          <RunDuration run={run} />
          {run.usage.cost_usd > 0 && (
            <span className="tabular-nums">{formatDollars(run.usage.cost_usd)}</span>
          )}
          <Time at={run.updated_at} />
        </p>
      </div>
      {(isBlocked || actions) && (
        <div className="flex shrink-0 items-center gap-1 max-sm:self-end">
          {isBlocked && (
            <Link
              to="/runs/$runId"
              params={{ runId: run_id }}
              search={isApproval ? { tab: "changes" } : {}}
              className={`${buttonClass()} relative`}
              aria-label={`${isApproval ? "Review" : "Answer"} ${sanitizeLine(title)}`}
            >
              {isApproval ? "Review" : "Answer"}
            </Link>
          )}
          {actions}
        </div>
      )}
    </li>
  );
}
