import type { Identity } from "@outrider/sdk";
import { useMutation, useQuery } from "@tanstack/react-query";
import { outrider } from "../../api.ts";
import { showToast } from "../../frame/toasts.ts";
import { queries, queryClient } from "../../queries.ts";
import { Confirm } from "../../ui/overlay/confirm.tsx";

export function DeleteAgent({ agent: { uid, name }, onClose }: { agent: Identity; onClose: () => void }) {
  const { data: keys } = useQuery({ ...queries.keys(), staleTime: 0 });
  const own = keys?.filter(({ agent_uid }) => agent_uid === uid);
  const deleting = useMutation({
    mutationFn: () => outrider.identities.delete(uid),
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: ["identities"] });
      void queryClient.invalidateQueries({ queryKey: ["keys"] });
      showToast("Cloud agent deleted");
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
          "This also revokes its keys"
        ) : (
          <>
            This revokes {own.length === 1 ? "its key" : `its ${own.length} keys`} immediately:{" "}
            <strong>{own.map((key) => key.name).join(", ")}</strong>
          </>
        )}
        . Programs that use them lose access.
      </p>
      <p className="text-muted">Its runs are kept, and active runs continue.</p>
    </Confirm>
  );
}
