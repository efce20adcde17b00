import { useQuery } from "@tanstack/react-query";
import { queries } from "../../queries.ts";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { Skeleton } from "../../ui/feedback/skeleton.tsx";
import { Snippet } from "../../ui/text/snippet.tsx";

const POLL_MS = 2_000;

/**
 * Shows the connected workers to admins, because only they can list workers. For members, the run page shows why a run
 * is queued.
 */
export function WorkerStatus() {
  const { data: me } = useQuery(queries.me());
  const isAdmin = me?.role === "admin";
  const { data, error } = useQuery({ ...queries.workers(), enabled: isAdmin, refetchInterval: POLL_MS });
  const ready = data?.filter(({ is_alive, draining }) => is_alive && !draining) ?? [];
  if (me && !isAdmin) return null;
  if (error) return <ErrorAlert error={error} />;
  if (!data) return <Skeleton className="h-5 w-1/2" />;
  const [first] = ready;
  if (!first) {
    return (
      <div className="rounded-lg bg-warn-soft px-3 py-2.5">
        <h3 className="font-medium">No worker connected</h3>
        <p role="status" className="pb-2">
          Runs wait until a worker connects. The server starts one within seconds unless OUTRIDER_WORKERS is
          0. To find out what is wrong, run:
        </p>
        <Snippet what="check command" code="bin/outrider doctor" />
      </div>
    );
  }
  const slots = ready.reduce((sum, worker) => sum + worker.slots, 0);
  return (
    <div className="flex flex-wrap items-center gap-x-2">
      <h3 className="font-medium">{ready.length === 1 ? "Worker ready" : `${ready.length} workers ready`}</h3>
      <p role="status" className="text-muted">
        {ready.length === 1 ? first.name : `${first.name} and others`} · {slots} concurrent{" "}
        {slots === 1 ? "run" : "runs"}
      </p>
    </div>
  );
}
