import type { Worker } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { Sparkline } from "../../ui/charts/sparkline.tsx";
import { workerLoadQuery } from "../insights/usage-queries.ts";

/** Shows how many slots of a worker were in use on the last day. It keeps its place while it is loading. */
export function WorkerLoad({ worker: { worker_id, slots } }: { worker: Worker }) {
  const { data } = useQuery(workerLoadQuery(worker_id));
  const points = data?.points ?? [];
  const most = Math.max(0, ...points.map(({ running_max }) => running_max));
  return (
    <div className="mt-1 h-6 w-24">
      {points.length > 1 && (
        <Sparkline
          values={points.map(({ running }) => running)}
          max={slots}
          color="var(--chart-1)"
          label={`Load on the last day: at most ${most} of ${slots} slots`}
        />
      )}
    </div>
  );
}
