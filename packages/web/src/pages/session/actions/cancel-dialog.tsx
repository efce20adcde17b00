import type { RunItem } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { outrider } from "../../../api.ts";
import { showToast } from "../../../frame/toasts.ts";
import { queryClient } from "../../../queries.ts";
import { Button } from "../../../ui/button.tsx";
import { ErrorAlert } from "../../../ui/feedback/error-alert.tsx";
import { Dialog } from "../../../ui/overlay/dialog.tsx";

const consequences: Partial<Record<RunItem["state"], string>> = {
  QUEUED: "It has not started, so nothing is lost.",
  INPROGRESS: "The agent stops immediately, in the middle of its work. Its files and messages are kept.",
  BLOCKED: "Its question stays unanswered. Its files and messages are kept.",
};

export function CancelDialog({ run, onClose }: { run: RunItem; onClose: () => void }) {
  const cancel = useMutation({
    mutationFn: () => outrider.runs.cancel(run.run_id),
    onSuccess: () => {
      showToast("Run cancelled");
      onClose();
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: ["run", run.run_id] }),
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title="Cancel this run?"
      description={`${consequences[run.state] ?? "It has already finished."} A follow-up can continue it later.`}
      footer={
        <>
          <Button onClick={onClose}>Keep run</Button>
          <Button variant="danger" busy={cancel.isPending} onClick={() => cancel.mutate()}>
            Cancel run
          </Button>
        </>
      }
    >
      {cancel.isError && <ErrorAlert error={cancel.error} />}
    </Dialog>
  );
}
