import type { RunItem } from "@outrider/sdk";
import { PullRequestBadges } from "../../ui/pull-request-badge.tsx";
import { RunState } from "../../ui/run-state.tsx";
import { Actions, type RunAction } from "./actions/actions.tsx";
import { RunDetails } from "./run-details.tsx";
import type { Steering } from "./steering.ts";

interface HeaderProps {
  run: RunItem;
  steering: Steering | undefined;
  open: RunAction | undefined;
  onOpen: (action: RunAction | undefined) => void;
}

export function Header(props: HeaderProps) {
  const { run } = props;
  return (
    <header className="px-4 pt-3 pb-2 sm:px-6">
      <div className="flex items-start gap-3">
        <div className="flex min-w-0 flex-1 items-center gap-x-3 gap-y-1 max-sm:flex-wrap sm:min-h-9">
          <h1
            className="line-clamp-2 min-w-0 text-base font-semibold tracking-tight break-words [unicode-bidi:plaintext] sm:line-clamp-1 sm:text-lg"
            title={run.title}
          >
            {run.title}
          </h1>
          <span role="status">
            <RunState state={run.state} phase={run.phase} boxed />
          </span>
          <PullRequestBadges of={run.pull_requests} labelled />
        </div>
        <Actions {...props} />
      </div>
      <div className="mt-1">
        <RunDetails run={run} />
      </div>
    </header>
  );
}
