import { useQuery } from "@tanstack/react-query";
import { Plus, Server } from "lucide-react";
import { useState } from "react";
import { queries } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { Disclosure } from "../../ui/disclosure.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Page } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { SkeletonRows } from "../../ui/skeleton.tsx";
import { AddWorker } from "./add-worker.tsx";
import { WorkerTable } from "./worker-table.tsx";

export function Workers() {
  const { data: workers, error, refetch } = useQuery(queries.workers());
  const [isAdding, setAdding] = useState(false);
  const alive = workers?.filter(({ is_alive }) => is_alive) ?? [];
  const gone = workers?.filter(({ is_alive }) => !is_alive) ?? [];
  const add = (
    <Button look="primary" icon={<Plus className="size-4" aria-hidden />} onClick={() => setAdding(true)}>
      Add a worker
    </Button>
  );
  return (
    <Page
      wide
      title="Workers"
      lead="Processes that take runs from the queue and execute them in sandboxes. They may stand on any machine that reaches this server."
      actions={add}
    >
      {error ? (
        <Problem error={error} onRetry={() => void refetch()} />
      ) : !workers ? (
        <SkeletonRows rows={3} label="Loading workers" />
      ) : (
        <>
          {alive.length === 0 ? (
            <Empty icon={<Server className="size-5" aria-hidden />} title="No worker is there" action={add}>
              Runs wait in the queue until one comes. The server starts one by itself unless OUTRIDER_WORKERS
              is 0.
            </Empty>
          ) : (
            <WorkerTable label="Workers" workers={alive} />
          )}
          {gone.length > 0 && (
            <Disclosure
              className="mt-6"
              summary={`${gone.length} that ${gone.length === 1 ? "was" : "were"} here within the last day`}
            >
              <WorkerTable label="Workers that are gone" workers={gone} />
            </Disclosure>
          )}
        </>
      )}
      {isAdding && <AddWorker onClose={() => setAdding(false)} />}
    </Page>
  );
}
