import type { RunItem } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { outrider } from "../../../api.ts";
import { queryClient } from "../../../queries.ts";
import { announce } from "../../../shell/announcements.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Problem } from "../../../ui/problem.tsx";

export function DeleteDialog({ run, onClose }: { run: RunItem; onClose: () => void }) {
  const navigate = useNavigate();
  const remove = useMutation({
    mutationFn: () => outrider.runs.delete(run.run_id),
    onSuccess: async () => {
      announce("The run is deleted");
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
      description="Its transcript, its changes, its artifacts and its share link go with it. There is no way back."
      footer={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button look="danger" busy={remove.isPending} onClick={() => remove.mutate()}>
            Delete for good
          </Button>
        </>
      }
    >
      {remove.isError && <Problem error={remove.error} />}
    </Dialog>
  );
}
