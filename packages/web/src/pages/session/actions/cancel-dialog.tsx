import type { RunItem } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { outrider } from "../../../api.ts";
import { queryClient } from "../../../queries.ts";
import { announce } from "../../../shell/announcements.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Problem } from "../../../ui/problem.tsx";

const consequences: Partial<Record<RunItem["state"], string>> = {
  QUEUED: "It has not begun, so nothing is lost.",
  INPROGRESS:
    "The agent is stopped at once, in the middle of what it does. Its files and everything it said are kept.",
  BLOCKED: "Its question stays without an answer. Its files and everything it said are kept.",
};

export function CancelDialog({ run, onClose }: { run: RunItem; onClose: () => void }) {
  const cancel = useMutation({
    mutationFn: () => outrider.runs.cancel(run.run_id),
    onSuccess: () => {
      announce("The run is cancelled");
      onClose();
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: ["run", run.run_id] }),
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title="Cancel this run?"
      description={`${consequences[run.state] ?? "It has ended meanwhile."} A follow-up can continue it later.`}
      footer={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button look="danger" busy={cancel.isPending} onClick={() => cancel.mutate()}>
            Cancel the run
          </Button>
        </>
      }
    >
      {cancel.isError && <Problem error={cancel.error} />}
    </Dialog>
  );
}
