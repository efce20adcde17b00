import { useQuery } from "@tanstack/react-query";
import { queries } from "../../queries.ts";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { Skeleton } from "../../ui/feedback/skeleton.tsx";
import { Snippet } from "../../ui/text/snippet.tsx";
import { Step } from "./step.tsx";

const POLL_MS = 2_000;

/**
 * Shows the connected workers to admins, because only they can list workers. For members, the run page shows why a run
 * is queued.
 */
export function WorkerStep() {
  const { data: me } = useQuery(queries.me());
  const isAdmin = me?.role === "admin";
  const { data, error } = useQuery({ ...queries.workers(), enabled: isAdmin, refetchInterval: POLL_MS });
  const ready = data?.filter(({ is_alive, draining }) => is_alive && !draining) ?? [];
  if (me && !isAdmin) {
    return (
      <Step number={2} title="Workers" state="done">
        <p className="text-muted">Your admins manage workers. If none is free, the run waits in the queue.</p>
      </Step>
    );
  }
  if (error) {
    return (
      <Step number={2} title="Worker" state="waits">
        <ErrorAlert error={error} />
      </Step>
    );
  }
  if (!data) {
    return (
      <Step number={2} title="Worker" state="open">
        <Skeleton className="h-5 w-1/2" />
      </Step>
    );
  }
  const [first] = ready;
  if (!first) {
    return (
      <Step number={2} title="No worker connected" state="waits">
        <p role="status" className="pb-2 text-muted">
          Runs wait until a worker connects. The server starts one within seconds unless OUTRIDER_WORKERS is
          0. To find out what is wrong, run:
        </p>
        <Snippet what="check command" code="bin/outrider doctor" />
      </Step>
    );
  }
  const slots = ready.reduce((sum, worker) => sum + worker.slots, 0);
  return (
    <Step
      number={2}
      title={ready.length === 1 ? "Worker ready" : `${ready.length} workers ready`}
      state="done"
    >
      <p role="status" className="text-muted">
        {ready.length === 1 ? first.name : `${first.name} and others`} · {slots} concurrent{" "}
        {slots === 1 ? "run" : "runs"}
      </p>
    </Step>
  );
}
