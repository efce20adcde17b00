import { useQuery } from "@tanstack/react-query";
import { Plus, Server } from "lucide-react";
import { useState } from "react";
import { queries } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { Disclosure } from "../../ui/disclosure.tsx";
import { EmptyState } from "../../ui/feedback/empty-state.tsx";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../ui/feedback/skeleton.tsx";
import { Page } from "../../ui/page.tsx";
import { AddWorker } from "./add-worker.tsx";
import { WorkerTable } from "./worker-table.tsx";

export function Workers() {
  const { data: workers, error, refetch } = useQuery(queries.workers());
  const [isAdding, setAdding] = useState(false);
  const alive = workers?.filter(({ is_alive }) => is_alive) ?? [];
  const gone = workers?.filter(({ is_alive }) => !is_alive) ?? [];
  const add = (
    <Button variant="primary" icon={<Plus className="size-4" aria-hidden />} onClick={() => setAdding(true)}>
      Add worker
    </Button>
  );
  return (
    <Page
      wide
      title="Workers"
      lead="Processes that claim runs from the queue and execute them in sandboxes. They can run on any machine that can reach this server."
      actions={add}
    >
      {error ? (
        <ErrorAlert error={error} onRetry={() => void refetch()} />
      ) : !workers ? (
        <SkeletonRows rows={3} label="Loading workers" />
      ) : (
        <>
          {alive.length === 0 ? (
            <EmptyState
              icon={<Server className="size-5" aria-hidden />}
              title="No workers connected"
              action={add}
            >
              Runs wait in the queue until a worker connects. The server starts one automatically unless
              OUTRIDER_WORKERS is 0.
            </EmptyState>
          ) : (
            <WorkerTable label="Workers" workers={alive} />
          )}
          {gone.length > 0 && (
            <Disclosure className="mt-6" summary={`${gone.length} disconnected in the last day`}>
              <WorkerTable label="Disconnected workers" workers={gone} />
            </Disclosure>
          )}
        </>
      )}
      {isAdding && <AddWorker onClose={() => setAdding(false)} />}
    </Page>
  );
}
