import type { RunEvent, RunItem } from "@outrider/sdk";
import { useMemo } from "react";

/**
 * Applies the last change of state in the log to a run that was fetched before it. The log arrives first, so without
 * this, the page would show two states until the run is fetched again.
 */
export function useLoggedState(run: RunItem, milestones: readonly RunEvent[]): RunItem {
  return useMemo(() => {
    for (const event of milestones.toReversed()) {
      if (Date.parse(event.created_at) <= Date.parse(run.updated_at)) break;
      const change = changeOf(event);
      // In the same state, the fetched run has the later phase.
      if (change) return change.state === run.state ? run : { ...run, ...change };
    }
    return run;
  }, [run, milestones]);
}

function changeOf(event: RunEvent): Partial<RunItem> | undefined {
  const ended = { phase: "done", finished_at: event.created_at } as const;
  switch (event.type) {
    case "run.claimed":
    case "run.started":
      return { state: "INPROGRESS", phase: event.type === "run.started" ? "working" : "preparing" };
    case "run.blocked":
      return { state: "BLOCKED", phase: "blocked", status_message: { message: event.data.question } };
    case "run.succeeded":
      return { state: "SUCCEEDED", ...ended };
    case "run.failed":
      return { state: "FAILED", status_message: event.data.status_message, ...ended };
    case "run.cancelled":
      return { state: "CANCELLED", ...ended };
    case "run.reopened":
      return { state: "QUEUED", phase: "queued" };
    default:
      return undefined;
  }
}
