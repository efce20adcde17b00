import { useQuery } from "@tanstack/react-query";
import { queries } from "../../queries.ts";
import { Problem } from "../../ui/problem.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { Snippet } from "../../ui/snippet.tsx";
import { Step } from "./step.tsx";

const LOOK_MS = 2_000;

/** Only admins may see workers; a member's run says by itself what it waits for. */
export function WorkerStep() {
  const { data: me } = useQuery(queries.me());
  const isAdmin = me?.role === "admin";
  const { data, error } = useQuery({ ...queries.workers(), enabled: isAdmin, refetchInterval: LOOK_MS });
  const ready = data?.filter(({ is_alive, draining }) => is_alive && !draining) ?? [];
  if (me && !isAdmin) {
    return (
      <Step number={2} title="Workers" state="done">
        <p className="text-muted">
          Your admins look after them. If none is free, the run waits in the queue and says so.
        </p>
      </Step>
    );
  }
  if (error) {
    return (
      <Step number={2} title="A worker" state="waits">
        <Problem error={error} />
      </Step>
    );
  }
  if (!data) {
    return (
      <Step number={2} title="A worker" state="open">
        <Skeleton className="h-5 w-1/2" />
      </Step>
    );
  }
  const [first] = ready;
  if (!first) {
    return (
      <Step number={2} title="No worker is there yet" state="waits">
        <p role="status" className="pb-2 text-muted">
          Runs would wait for one. The server starts one by itself within seconds, unless OUTRIDER_WORKERS is
          0. This looks why it may fail, and looks again by itself:
        </p>
        <Snippet what="check command" code="bin/outrider doctor" />
      </Step>
    );
  }
  const slots = ready.reduce((sum, worker) => sum + worker.slots, 0);
  return (
    <Step
      number={2}
      title={ready.length === 1 ? "A worker is ready" : `${ready.length} workers are ready`}
      state="done"
    >
      <p role="status" className="text-muted">
        {ready.length === 1 ? first.name : `${first.name} and others`}: {slots} {slots === 1 ? "run" : "runs"}{" "}
        at once.
      </p>
    </Step>
  );
}
