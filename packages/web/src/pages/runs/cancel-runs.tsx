import type { RunItem } from "@outrider/sdk";
import { CircleAlert, CircleCheck, LoaderCircle } from "lucide-react";
import { useState } from "react";
import { outrider } from "../../api.ts";
import { wordsOf } from "../../trouble.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { visibleLine } from "../../ui/visible.ts";

/** Undefined while it is under way. */
type Outcome = { good: boolean; words: string } | undefined;

/** So many at once: who selects a thousand does not want to shut everybody else out. */
const AT_ONCE = 4;

interface CancelRunsProps {
  runs: readonly RunItem[];
  onClose: (isDone: boolean) => void;
  onChanged: (fresh: Map<string, RunItem>) => void;
}

export function isCancellable({ state }: RunItem): boolean {
  return state === "QUEUED" || state === "INPROGRESS" || state === "BLOCKED";
}

/** Asks first, then says of each run what became of it. */
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
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    setBusy(false);
  }

  const close = () => !isBusy && onClose(outcomes !== undefined);
  return (
    <Dialog
      open
      onClose={close}
      title={outcomes ? "Cancelling runs" : `Cancel ${counted(affected.length)}?`}
      description={
        outcomes
          ? undefined
          : `What they did so far is kept, and a follow-up can take them up again.${ended > 0 ? ` ${counted(ended)} of the selection ended already and stay as they are.` : ""}`
      }
      footer={
        outcomes ? (
          <Button disabled={isBusy} onClick={close}>
            Done
          </Button>
        ) : (
          <>
            <Button onClick={close}>Keep them</Button>
            <Button look="danger" disabled={affected.length === 0} onClick={() => void cancelAll()}>
              Cancel {counted(affected.length)}
            </Button>
          </>
        )
      }
    >
      <ul aria-live="polite" className="flex flex-col divide-y divide-line">
        {affected.map(({ run_id, title }) => (
          <li key={run_id} className="flex items-start gap-2 py-2">
            {outcomes && <Sign outcome={outcomes.get(run_id)} />}
            <span className="min-w-0 flex-1">
              <span className="block truncate">{visibleLine(title)}</span>
              {outcomes && (
                <span className="block text-xs text-muted">
                  {outcomes.get(run_id)?.words ?? "Cancelling…"}
                </span>
              )}
            </span>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

function Sign({ outcome }: { outcome: Outcome }) {
  const shape = "mt-0.5 size-4 shrink-0";
  if (!outcome) return <LoaderCircle className={`${shape} animate-spin text-muted`} aria-hidden />;
  return outcome.good ? (
    <CircleCheck className={`${shape} text-good`} aria-hidden />
  ) : (
    <CircleAlert className={`${shape} text-bad`} aria-hidden />
  );
}

async function cancelOne(run: RunItem, onChanged: CancelRunsProps["onChanged"]): Promise<Outcome> {
  try {
    await outrider.runs.cancel(run.run_id);
    onChanged(new Map([[run.run_id, { ...run, state: "CANCELLED", phase: "done" }]]));
    return { good: true, words: "Cancelled" };
  } catch (error) {
    return { good: false, words: wordsOf(error).detail };
  }
}

function counted(amount: number): string {
  return amount === 1 ? "1 run" : `${amount} runs`;
}
