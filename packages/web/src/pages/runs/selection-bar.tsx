import type { RunItem } from "@outrider/sdk";
import { RotateCcw, Square, Trash2, X } from "lucide-react";
import { useState } from "react";
import { useShortcut } from "../../frame/shortcuts.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { type BulkAction, bulkActions } from "./bulk-actions.ts";
import { BulkDialog } from "./bulk-dialog.tsx";
import type { Selection } from "./selection.ts";
import { useControlled } from "./use-controlled.ts";

interface SelectionBarProps {
  rows: readonly RunItem[];
  selection: Selection;
  onChanged: (fresh: Map<string, RunItem>, deleted: ReadonlySet<string>) => void;
}

/** Offers actions for the selected runs. Cancel and Delete are offered if the user controls at least one of them. */
export function SelectionBar({ rows, selection, onChanged }: SelectionBarProps) {
  const [asking, setAsking] = useState<{ action: BulkAction; runs: RunItem[] }>();
  const selected = rows.filter(({ run_id }) => selection.ids.has(run_id));
  const isControlled = useControlled();
  const controlled = selected.filter(isControlled);
  const canCancel = controlled.some(bulkActions.cancel.applies);
  const canDelete = controlled.some(bulkActions.delete.applies);
  const askRerun = () => setAsking({ action: bulkActions.rerun, runs: selected });
  useShortcut(
    selected.length > 0 && !asking ? { keys: "r", what: "Re-run selected runs", run: askRerun } : undefined,
  );
  if (selected.length === 0 && !asking) return null;
  return (
    <>
      <section
        aria-label="Selected runs"
        data-bottom-bar
        className="fixed inset-x-2 bottom-18 z-40 mx-auto flex w-fit items-center gap-1.5 rounded-xl border border-line bg-surface py-2 pr-2 pl-4 shadow-pop max-sm:gap-1 max-sm:pr-1 max-sm:pl-3 max-sm:[&_button]:px-2 md:bottom-6"
      >
        <span role="status" className="mr-1 whitespace-nowrap font-medium tabular-nums">
          {selected.length.toLocaleString()} selected
        </span>
        <Button icon={<RotateCcw className="size-4 max-sm:hidden" aria-hidden />} onClick={askRerun}>
          Re-run
        </Button>
        {canCancel && (
          <Button
            variant="danger"
            icon={<Square className="size-3.5 max-sm:hidden" aria-hidden />}
            onClick={() => setAsking({ action: bulkActions.cancel, runs: controlled })}
          >
            Cancel
          </Button>
        )}
        {canDelete && (
          <Button
            variant="danger"
            icon={<Trash2 className="size-4 max-sm:hidden" aria-hidden />}
            onClick={() => setAsking({ action: bulkActions.delete, runs: controlled })}
          >
            Delete
          </Button>
        )}
        <IconButton
          label="Clear selection"
          icon={<X className="size-4" aria-hidden />}
          onClick={selection.clear}
        />
      </section>
      {asking && (
        <BulkDialog
          {...asking}
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
