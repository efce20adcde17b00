import { useMutation } from "@tanstack/react-query";
import { outrider } from "../../api.ts";
import { queryClient } from "../../queries.ts";
import { announce } from "../../shell/announcements.ts";
import { Confirm } from "../../ui/confirm.tsx";

interface DeleteSecretProps {
  name: string;
  /** Names of environments that hold it. */
  users: string[];
  onClose: () => void;
}

export function DeleteSecret({ name, users, onClose }: DeleteSecretProps) {
  const deleting = useMutation({
    mutationFn: () => outrider.secrets.delete(name),
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: ["secrets"] });
      announce(`${name} is deleted`);
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
      <p>The value is gone for good; Outrider keeps no copy.</p>
      {users.length > 0 && (
        <p>
          It is used by <strong>{users.join(", ")}</strong>, and cannot be deleted before it is taken out
          there.
        </p>
      )}
    </Confirm>
  );
}
