import type { CloudAgent } from "@outrider/sdk";
import { useMutation, useQuery } from "@tanstack/react-query";
import { outrider } from "../../api.ts";
import { queries, queryClient } from "../../queries.ts";
import { announce } from "../../shell/announcements.ts";
import { Confirm } from "../../ui/confirm.tsx";

export function DeleteAgent({ agent: { uid, name }, onClose }: { agent: CloudAgent; onClose: () => void }) {
  const { data: keys } = useQuery({ ...queries.keys(), staleTime: 0 });
  const own = keys?.filter(({ agent_uid }) => agent_uid === uid);
  const deleting = useMutation({
    mutationFn: () => outrider.identities.delete(uid),
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: ["identities"] });
      void queryClient.invalidateQueries({ queryKey: ["keys"] });
      announce(`${name} is deleted`);
      onClose();
    },
  });
  return (
    <Confirm
      title={`Delete ${name}?`}
      action="Delete cloud agent"
      busy={deleting.isPending}
      error={deleting.error}
      onConfirm={() => deleting.mutate()}
      onClose={onClose}
    >
      <p>
        {!own?.length ? (
          "Its keys are revoked with it"
        ) : (
          <>
            {own.length === 1 ? "Its key is" : `Its ${own.length} keys are`} revoked at once:{" "}
            <strong>{own.map((key) => key.name).join(", ")}</strong>
          </>
        )}
        . Whatever still uses one is refused from then on.
      </p>
      <p className="text-muted">Runs that it started stay, and those at work go on.</p>
    </Confirm>
  );
}
