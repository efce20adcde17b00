import { useMutation } from "@tanstack/react-query";
import { outrider } from "../../api.ts";
import { showToast } from "../../frame/toasts.ts";
import { queryClient } from "../../queries.ts";
import { Confirm } from "../../ui/overlay/confirm.tsx";

interface DeleteSecretProps {
  name: string;
  /** Names of the environments that use the secret. */
  usage: string[];
  onClose: () => void;
}

export function DeleteSecret({ name, usage, onClose }: DeleteSecretProps) {
  const deleting = useMutation({
    mutationFn: () => outrider.secrets.delete(name),
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: ["secrets"] });
      showToast("Secret deleted");
      onClose();
    },
  });
  return (
    <Confirm
      title={`Delete ${name}?`}
      action="Delete secret"
      busy={deleting.isPending}
      error={deleting.error}
      onConfirm={() => deleting.mutate()}
      onClose={onClose}
    >
      <p>This permanently deletes the value.</p>
      {usage.length > 0 && (
        <p>
          Used by <strong>{usage.join(", ")}</strong>. Remove it there before you delete it.
        </p>
      )}
    </Confirm>
  );
}
