import type { CancelRunsRequest } from "@outrider/sdk";
import { useEffect, useRef, useState } from "react";
import { outrider } from "../../api.ts";
import { queries, queryClient } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { Dialog } from "../../ui/overlay/dialog.tsx";
import { runCount } from "./cancel-filter.ts";

interface CancelProgressProps {
  filter: NonNullable<CancelRunsRequest["filter"]>;
  /** The number of matching runs. */
  found: number;
  /** Whether new runs are accepted during the cancellation. */
  acceptsRuns: boolean;
  onClose: () => void;
}

interface Work {
  cancelled: number;
  remaining: number;
  isBusy: boolean;
  isStopping?: boolean;
  error?: unknown;
}

/** Asks for confirmation, then cancels runs in batches until none are left or the user stops the process. */
export function CancelProgress({ filter, found, acceptsRuns, onClose }: CancelProgressProps) {
  const [work, setWork] = useState<Work>();
  const isStopped = useRef(false);
  const stop = () => {
    isStopped.current = true;
    setWork((before) => before && { ...before, isStopping: true });
  };
  // Leaving the page stops the cancellation after the current batch.
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
        const step = await outrider.maintenance.cancelRuns({ filter, dry_run: false });
        cancelled += step.cancelled;
        remaining = step.remaining;
      }
      setWork({ cancelled, remaining, isBusy: false });
    } catch (error) {
      setWork({ cancelled, remaining, isBusy: false, error });
    }
    void queryClient.invalidateQueries(queries.maintenance());
    void queryClient.invalidateQueries({ queryKey: ["runs"] });
  }

  if (!work) {
    return (
      <Dialog
        open
        onClose={onClose}
        title={`Cancel ${runCount(found)}?`}
        footer={
          <>
            <Button onClick={onClose}>Keep runs</Button>
            <Button variant="danger" onClick={() => void cancelAll()}>
              Cancel {runCount(found)}
            </Button>
          </>
        }
      >
        <div className="flex flex-col gap-3">
          <p>
            {found === 1
              ? "It stops immediately, regardless of who started it."
              : "They stop immediately, regardless of who started them."}{" "}
            Completed work is kept, and a follow-up can resume a run.
          </p>
          {acceptsRuns && (
            <p className="rounded-lg bg-warn-soft px-3 py-2">
              New runs are still accepted. Matching runs that are created in the meantime are cancelled too.
              To prevent this, pause new runs first.
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
      title={isBusy ? "Cancelling runs" : isDone ? "All runs cancelled" : "Some runs were not cancelled"}
      keepOpen
      footer={
        isBusy ? (
          <Button busy={isStopping ?? false} onClick={stop}>
            {isStopping ? "Stopping" : "Stop"}
          </Button>
        ) : (
          <>
            {!isDone && (
              <Button variant="danger" onClick={() => void cancelAll()}>
                Continue
              </Button>
            )}
            <Button onClick={onClose}>Done</Button>
          </>
        )
      }
    >
      <div className="flex flex-col gap-3">
        <progress
          aria-label="Cancelled runs"
          max={cancelled + remaining}
          value={cancelled}
          className="h-2 w-full accent-accent"
        />
        <p role="status" className="tabular-nums">
          {runCount(cancelled)} cancelled, {remaining} left.
        </p>
        {error !== undefined && <ErrorAlert error={error} />}
      </div>
    </Dialog>
  );
}
