import type { RunItem } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { outrider } from "../../../api.ts";
import { showToast } from "../../../frame/toasts.ts";
import { queryClient } from "../../../queries.ts";
import { Button } from "../../../ui/button.tsx";
import { ErrorAlert } from "../../../ui/feedback/error-alert.tsx";
import { Dialog } from "../../../ui/overlay/dialog.tsx";

export function DeleteDialog({ run, onClose }: { run: RunItem; onClose: () => void }) {
  const navigate = useNavigate();
  const remove = useMutation({
    mutationFn: () => outrider.runs.delete(run.run_id),
    onSuccess: async () => {
      showToast("Run deleted");
      await navigate({ to: "/runs" });
      queryClient.removeQueries({ queryKey: ["run", run.run_id] });
      await queryClient.invalidateQueries({ queryKey: ["runs"] });
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title="Delete this run?"
      description="This permanently deletes its transcript, changes, artifacts and share link. This cannot be undone."
      footer={
        <>
          <Button onClick={onClose}>Keep run</Button>
          <Button variant="danger" busy={remove.isPending} onClick={() => remove.mutate()}>
            Delete run
          </Button>
        </>
      }
    >
      {remove.isError && <ErrorAlert error={remove.error} />}
    </Dialog>
  );
}
