import { isFinal } from "@outrider/contract/run-state";
import { NotFoundError, PermissionDeniedError, type RunItem } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { queries } from "../../queries.ts";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { type TabSignal, useTabTitle } from "../../ui/tab-title.ts";
import { RunNotFound } from "./run-not-found.tsx";
import { SessionSkeleton } from "./session-skeleton.tsx";
import { SessionView } from "./session-view.tsx";

const route = getRouteApi("/frame/runs/$runId");

/** Polling intervals for data that is not in the log: queue position, cost, and share links created elsewhere. */
const QUEUED_POLL_MS = 3_000;
const LIVE_POLL_MS = 15_000;
const QUIET_POLL_MS = 60_000;
const SAVING_MS = 30_000;

/** The states that the browser's tab shows. */
const signals: Partial<Record<RunItem["state"], TabSignal>> = {
  BLOCKED: "waiting",
  FAILED: "failed",
  SUCCEEDED: "succeeded",
};

/** A cancelled run ends at once. Its worker saves the changes shortly afterwards. */
function isSavingChanges({ state, finished_at }: RunItem): boolean {
  return state === "CANCELLED" && Date.now() - Date.parse(finished_at ?? "") < SAVING_MS;
}

/** Shows the page for one run. */
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
      if (data.state === "QUEUED" || isSavingChanges(data)) return QUEUED_POLL_MS;
      return isFinal(data.state) ? QUIET_POLL_MS : LIVE_POLL_MS;
    },
  });
  useTabTitle(run?.title ?? "Run", run && signals[run.state]);
  if (error instanceof NotFoundError) return <RunNotFound wasDeleted={run !== undefined} />;
  if (run) return <SessionView key={runId} run={run} tab={tab} />;
  if (!error) return <SessionSkeleton />;
  const isForbidden = error instanceof PermissionDeniedError;
  return (
    <main id="main" className="mx-auto max-w-2xl p-6">
      <ErrorAlert error={error} {...(!isForbidden && { onRetry: () => void refetch() })} />
    </main>
  );
}
