import type { RunItem } from "@outrider/sdk";
import { CircleAlert, CircleCheck, CircleDashed } from "lucide-react";
import { useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/overlay/dialog.tsx";
import { sanitizeLine } from "../../ui/text/sanitize.ts";
import { type BulkAction, type Outcome, performOnEach, runCount } from "./bulk-actions.ts";

interface BulkDialogProps {
  action: BulkAction;
  runs: readonly RunItem[];
  onClose: (isDone: boolean) => void;
  onChanged: (fresh: Map<string, RunItem>, deleted: ReadonlySet<string>) => void;
}

/** Asks for confirmation, then shows the progress and the result for each run. */
export function BulkDialog({ action, runs, onClose, onChanged }: BulkDialogProps) {
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>();
  const [stop, setStop] = useState<AbortController>();
  const [affected] = useState(() => runs.filter(action.applies));
  const skipped = runs.length - affected.length;
  const isBusy = stop !== undefined;
  const title = `${action.verb} ${runCount(affected.length)}`;

  async function performAll() {
    const controller = new AbortController();
    setStop(controller);
    const found = new Map<string, Outcome>();
    setOutcomes(new Map());
    await performOnEach(action, affected, {
      signal: controller.signal,
      onResult(run, outcome) {
        found.set(run.run_id, outcome);
        setOutcomes(new Map(found));
        if (outcome.run) onChanged(new Map([[run.run_id, outcome.run]]), new Set());
        if (outcome.run === null) onChanged(new Map(), new Set([run.run_id]));
      },
    });
    setStop(undefined);
  }

  const close = () => !isBusy && onClose(outcomes !== undefined);
  return (
    <Dialog
      open
      keepOpen
      onClose={close}
      title={outcomes ? `${action.progress} runs` : `${title}?`}
      description={
        outcomes
          ? undefined
          : `${action.consequence}${skipped > 0 ? ` Skips ${runCount(skipped)} ${action.skipped}.` : ""}`
      }
      footer={
        outcomes ? (
          <>
            {isBusy && <Button onClick={() => stop.abort()}>Stop</Button>}
            <Button disabled={isBusy} onClick={close}>
              Done
            </Button>
          </>
        ) : (
          <>
            <Button onClick={close}>{action.keep}</Button>
            <Button
              variant={action.isDangerous ? "danger" : "primary"}
              disabled={affected.length === 0}
              onClick={() => void performAll()}
            >
              {title}
            </Button>
          </>
        )
      }
    >
      {outcomes && <Progress outcomes={outcomes} total={affected.length} />}
      <ul className="flex flex-col divide-y divide-line">
        {affected.map(({ run_id, title }) => (
          <li key={run_id} className="flex items-start gap-2 py-2">
            {outcomes && <OutcomeIcon outcome={outcomes.get(run_id)} />}
            <span className="min-w-0 flex-1">
              <span className="block truncate">{sanitizeLine(title)}</span>
              {outcomes && (
                <span className="block text-xs text-muted">
                  {outcomes.get(run_id)?.text ?? (isBusy ? "Waiting" : "Stopped before this run")}
                </span>
              )}
            </span>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

function Progress({ outcomes, total }: { outcomes: ReadonlyMap<string, Outcome>; total: number }) {
  const failed = [...outcomes.values()].filter(({ isSuccess }) => !isSuccess).length;
  return (
    <div className="sticky top-0 bg-surface pb-2">
      <progress
        aria-label="Progress"
        value={outcomes.size}
        max={total}
        className="h-1.5 w-full accent-accent"
      />
      <p role="status" className="text-xs text-muted tabular-nums">
        {outcomes.size.toLocaleString()} of {total.toLocaleString()}
        {failed > 0 && <span className="text-bad"> · {failed.toLocaleString()} failed</span>}
      </p>
    </div>
  );
}

function OutcomeIcon({ outcome }: { outcome: Outcome | undefined }) {
  const shape = "mt-0.5 size-4 shrink-0";
  if (!outcome) return <CircleDashed className={`${shape} text-muted`} aria-hidden />;
  return outcome.isSuccess ? (
    <CircleCheck className={`${shape} text-good`} aria-hidden />
  ) : (
    <CircleAlert className={`${shape} text-bad`} aria-hidden />
  );
}
