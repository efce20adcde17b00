import type { CreateKeyRequest, CreateKeyResponse, KeyType } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { useId, useState } from "react";
import { outrider } from "../../api.ts";
import { queries, queryClient } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Problem } from "../../ui/problem.tsx";
import { KeyForm } from "./key-form.tsx";
import { ShownOnce } from "./shown-once.tsx";

interface NewKeyProps {
  type: KeyType;
  /** The cloud agent that is chosen beforehand. */
  agentUid?: string | undefined;
  onClose: () => void;
}

/** From the form to the raw key, which stands here once. Who would close it unread is asked first. */
export function NewKey({ type, agentUid, onClose }: NewKeyProps) {
  const form = useId();
  const [made, setMade] = useState<CreateKeyResponse>();
  const [isLeaving, setLeaving] = useState(false);
  const { mutate, isPending, error } = useMutation({
    mutationFn: (request: CreateKeyRequest) => outrider.keys.create(request),
    async onSuccess(key) {
      setMade(key);
      await queryClient.invalidateQueries(queries.keys());
    },
  });
  if (made) {
    return (
      <Dialog
        open
        sheet
        onClose={() => setLeaving(true)}
        title={isLeaving ? "Close without storing it?" : "Store this key now"}
        footer={
          <>
            {isLeaving && <Button onClick={() => setLeaving(false)}>Go back</Button>}
            <Button look="primary" onClick={onClose}>
              {isLeaving ? "Close, I have it" : "I have stored it"}
            </Button>
          </>
        }
      >
        <ShownOnce made={made} isLeaving={isLeaving} />
      </Dialog>
    );
  }
  return (
    <Dialog
      open
      sheet
      onClose={onClose}
      title="New key"
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" form={form} busy={isPending}>
            Make the key
          </Button>
        </>
      }
    >
      <KeyForm id={form} type={type} agentUid={agentUid} onSubmit={(request) => mutate(request)} />
      {error && (
        <div className="mt-4">
          <Problem error={error} />
        </div>
      )}
    </Dialog>
  );
}
