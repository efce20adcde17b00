import type { CancelRunsRequest } from "@outrider/sdk";
import { useEffect, useRef, useState } from "react";
import { outrider } from "../../api.ts";
import { queries, queryClient } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Problem } from "../../ui/problem.tsx";
import { counted } from "./cancel-filter.ts";

interface CancelProgressProps {
  filter: NonNullable<CancelRunsRequest["filter"]>;
  /** How many were counted. */
  found: number;
  /** Whether new runs may come while these end. */
  isTaking: boolean;
  onClose: () => void;
}

interface Work {
  cancelled: number;
  remaining: number;
  isBusy: boolean;
  isStopping?: boolean;
  error?: unknown;
}

/** Asks with the number, then ends them a batch at a time until none is left, or somebody stops it. */
export function CancelProgress({ filter, found, isTaking, onClose }: CancelProgressProps) {
  const [work, setWork] = useState<Work>();
  const isStopped = useRef(false);
  const stop = () => {
    isStopped.current = true;
    setWork((before) => before && { ...before, isStopping: true });
  };
  // Who leaves the page does not want it to go on unseen.
  useEffect(
    () => () => {
      isStopped.current = true;
    },
    [],
  );

  async function cancelAll() {
    isStopped.current = false;
    let { cancelled, remaining } = work ?? { cancelled: 0, remaining: found };
    try {
      while (remaining > 0 && !isStopped.current) {
        setWork({ cancelled, remaining, isBusy: true });
        const step = await outrider.brake.cancelRuns({ filter, dry_run: false });
        cancelled += step.cancelled;
        remaining = step.remaining;
      }
      setWork({ cancelled, remaining, isBusy: false });
    } catch (error) {
      setWork({ cancelled, remaining, isBusy: false, error });
    }
    void queryClient.invalidateQueries(queries.brake());
    void queryClient.invalidateQueries({ queryKey: ["runs"] });
  }

  if (!work) {
    return (
      <Dialog
        open
        onClose={onClose}
        title={`Cancel ${counted(found)}?`}
        footer={
          <>
            <Button onClick={onClose}>Keep them</Button>
            <Button look="danger" onClick={() => void cancelAll()}>
              Cancel {counted(found)}
            </Button>
          </>
        }
      >
        <div className="flex flex-col gap-3">
          <p>
            {found === 1 ? "It ends at once, whoever started it." : "They end at once, whoever started them."}{" "}
            What was done so far is kept, and a follow-up can take a run up again.
          </p>
          {isTaking && (
            <p className="rounded-lg bg-warn-soft px-3 py-2">
              New runs are still taken: those that come meanwhile and match end as well. Pause new runs first
              if none should come.
            </p>
          )}
        </div>
      </Dialog>
    );
  }
  const { cancelled, remaining, isBusy, isStopping, error } = work;
  const isDone = remaining === 0;
  return (
    <Dialog
      open
      onClose={isBusy ? stop : onClose}
      title={isBusy ? "Cancelling runs" : isDone ? "All are cancelled" : "Not all are cancelled"}
      keeps
      footer={
        isBusy ? (
          <Button busy={isStopping ?? false} onClick={stop}>
            {isStopping ? "Stopping" : "Stop"}
          </Button>
        ) : (
          <>
            {!isDone && (
              <Button look="danger" onClick={() => void cancelAll()}>
                Go on
              </Button>
            )}
            <Button onClick={onClose}>Done</Button>
          </>
        )
      }
    >
      <div className="flex flex-col gap-3">
        <progress
          aria-label="Runs that are cancelled"
          max={cancelled + remaining}
          value={cancelled}
          className="h-2 w-full accent-accent"
        />
        <p role="status" className="tabular-nums">
          {counted(cancelled)} cancelled, {remaining} left.
        </p>
        {error !== undefined && <Problem error={error} />}
      </div>
    </Dialog>
  );
}
