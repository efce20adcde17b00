import { NotFoundError, PermissionDeniedError } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { queries } from "../../queries.ts";
import { useTitle } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { isOver } from "./actions/actions.tsx";
import { Missing } from "./missing.tsx";
import { SessionSkeleton } from "./session-skeleton.tsx";
import { SessionView } from "./session-view.tsx";

const route = getRouteApi("/frame/runs/$runId");

/** What the log does not tell: the place in the queue, the cost, a share link that somebody else made. */
const QUEUED_LOOK_MS = 3_000;
const LIVE_LOOK_MS = 15_000;
const QUIET_LOOK_MS = 60_000;

/** One run: what the agent did and does, and the wheel. */
export function Session() {
  const { runId } = route.useParams();
  const { tab = "transcript" } = route.useSearch();
  const {
    data: run,
    error,
    refetch,
  } = useQuery({
    ...queries.run(runId),
    refetchInterval: ({ state: { data, error } }) => {
      if (error instanceof NotFoundError || !data) return false;
      return data.state === "QUEUED" ? QUEUED_LOOK_MS : isOver(data) ? QUIET_LOOK_MS : LIVE_LOOK_MS;
    },
  });
  useTitle(run?.title ?? "Run");
  if (error instanceof NotFoundError) return <Missing wasThere={run !== undefined} />;
  if (run) return <SessionView key={runId} run={run} tab={tab} />;
  if (!error) return <SessionSkeleton />;
  const isForbidden = error instanceof PermissionDeniedError;
  return (
    <main id="main" className="mx-auto max-w-2xl p-6">
      <Problem error={error} {...(!isForbidden && { onRetry: () => void refetch() })} />
    </main>
  );
}
