import type { RunItem } from "@outrider/sdk";
import { useState } from "react";
import { Button } from "../../ui/button.tsx";
import { CancelRuns } from "./cancel-runs.tsx";
import type { Selection } from "./selection.ts";

interface SelectionBarProps {
  rows: readonly RunItem[];
  selection: Selection;
  onChanged: (fresh: Map<string, RunItem>) => void;
}

/** Offers actions for the selected runs. */
export function SelectionBar({ rows, selection, onChanged }: SelectionBarProps) {
  const [asking, setAsking] = useState<RunItem[]>();
  const selected = rows.filter(({ run_id }) => selection.ids.has(run_id));
  if (selected.length === 0 && !asking) return null;
  return (
    <>
      <section
        aria-label="Selected runs"
        className="fixed inset-x-4 bottom-18 z-40 mx-auto flex w-fit items-center gap-2 rounded-xl border border-line bg-surface py-2 pr-2 pl-4 shadow-pop md:bottom-6"
      >
        <span role="status" className="whitespace-nowrap font-medium tabular-nums">
          {selected.length} selected
        </span>
        <Button variant="danger" onClick={() => setAsking(selected)}>
          Cancel runs
        </Button>
        <Button variant="quiet" onClick={selection.clear}>
          Clear
        </Button>
      </section>
      {asking && (
        <CancelRuns
          runs={asking}
          onClose={(isDone) => {
            setAsking(undefined);
            if (isDone) selection.clear();
          }}
          onChanged={onChanged}
        />
      )}
    </>
  );
}
