import { isFinal } from "@outrider/contract/run-state";
import type { RunItem } from "@outrider/sdk";
import { CircleAlert, CircleCheck, LoaderCircle } from "lucide-react";
import { useState } from "react";
import { outrider } from "../../api.ts";
import { describeError } from "../../request-error.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/overlay/dialog.tsx";
import { sanitizeLine } from "../../ui/text/sanitize.ts";

/** The result of a cancel request. Undefined while the request is running. */
type Outcome = { isSuccess: boolean; text: string } | undefined;

/**
 * The maximum number of concurrent cancel requests. It is low so that a large selection does not slow down other users.
 */
const CONCURRENCY = 4;

interface CancelRunsProps {
  runs: readonly RunItem[];
  onClose: (isDone: boolean) => void;
  onChanged: (fresh: Map<string, RunItem>) => void;
}

export function isCancellable({ state }: RunItem): boolean {
  return !isFinal(state);
}

/** Asks for confirmation, then shows the result for each run. */
export function CancelRuns({ runs, onClose, onChanged }: CancelRunsProps) {
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>();
  const [isBusy, setBusy] = useState(false);
  const affected = runs.filter(isCancellable);
  const ended = runs.length - affected.length;

  async function cancelAll() {
    setBusy(true);
    const found = new Map<string, Outcome>(affected.map(({ run_id }) => [run_id, undefined]));
    setOutcomes(new Map(found));
    const waiting = [...affected];
    const work = async () => {
      for (let run = waiting.shift(); run; run = waiting.shift()) {
        found.set(run.run_id, await cancelOne(run, onChanged));
        setOutcomes(new Map(found));
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
    setBusy(false);
  }

  const close = () => !isBusy && onClose(outcomes !== undefined);
  return (
    <Dialog
      open
      onClose={close}
      title={outcomes ? "Cancelling runs" : `Cancel ${runCount(affected.length)}?`}
      description={
        outcomes
          ? undefined
          : `Completed work is kept, and a follow-up can resume each run.${ended > 0 ? ` ${runCount(ended)} in the selection already finished.` : ""}`
      }
      footer={
        outcomes ? (
          <Button disabled={isBusy} onClick={close}>
            Done
          </Button>
        ) : (
          <>
            <Button onClick={close}>Keep runs</Button>
            <Button variant="danger" disabled={affected.length === 0} onClick={() => void cancelAll()}>
              Cancel {runCount(affected.length)}
            </Button>
          </>
        )
      }
    >
      <ul aria-live="polite" className="flex flex-col divide-y divide-line">
        {affected.map(({ run_id, title }) => (
          <li key={run_id} className="flex items-start gap-2 py-2">
            {outcomes && <OutcomeIcon outcome={outcomes.get(run_id)} />}
            <span className="min-w-0 flex-1">
              <span className="block truncate">{sanitizeLine(title)}</span>
              {outcomes && (
                <span className="block text-xs text-muted">
                  {outcomes.get(run_id)?.text ?? "Cancelling…"}
                </span>
              )}
            </span>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

function OutcomeIcon({ outcome }: { outcome: Outcome }) {
  const shape = "mt-0.5 size-4 shrink-0";
  if (!outcome) return <LoaderCircle className={`${shape} animate-spin text-muted`} aria-hidden />;
  return outcome.isSuccess ? (
    <CircleCheck className={`${shape} text-good`} aria-hidden />
  ) : (
    <CircleAlert className={`${shape} text-bad`} aria-hidden />
  );
}

async function cancelOne(run: RunItem, onChanged: CancelRunsProps["onChanged"]): Promise<Outcome> {
  try {
    await outrider.runs.cancel(run.run_id);
    onChanged(new Map([[run.run_id, { ...run, state: "CANCELLED", phase: "done" }]]));
    return { isSuccess: true, text: "Cancelled" };
  } catch (error) {
    return { isSuccess: false, text: describeError(error).detail };
  }
}

function runCount(amount: number): string {
  return amount === 1 ? "1 run" : `${amount} runs`;
}
