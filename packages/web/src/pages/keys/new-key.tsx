import { CreateKeyRequest } from "@outrider/contract/auth/key";
import type { CreateKeyResponse, KeyType, CreateKeyRequest as Request } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { outrider } from "../../api.ts";
import { queries, queryClient } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { FormErrors } from "../../ui/form/form-errors.tsx";
import { useRequestForm } from "../../ui/form/use-request-form.ts";
import { Dialog } from "../../ui/overlay/dialog.tsx";
import { CreatedKey } from "./created-key.tsx";
import { KeyFields } from "./key-fields.tsx";
import { keyRequest, keyValues } from "./key-values.ts";

interface NewKeyProps {
  type: KeyType;
  /** The preselected cloud agent. */
  agentUid?: string | undefined;
  onClose: () => void;
}

/**
 * Shows the form for a new key, followed by the key itself. Asks for confirmation if the dialog is closed before the
 * key has been saved.
 */
export function NewKey({ type, agentUid, onClose }: NewKeyProps) {
  const id = useId();
  const { data: me } = useQuery(queries.me());
  const isAdmin = me?.role === "admin";
  const [created, setCreated] = useState<CreateKeyResponse>();
  const [isClosing, setClosing] = useState(false);
  const form = useRequestForm({
    schema: CreateKeyRequest,
    values: keyValues(type, agentUid),
    requestOf: (values) => keyRequest(values, isAdmin),
    fieldOf: (path, { expiry }) =>
      path[0] === "expires_at" ? [expiry === "date" ? "date" : "expiry"] : path,
    check: ({ expiry, date }) =>
      expiry === "date" && !date ? [{ pointer: "/expires_at", message: "is required" }] : [],
    send: (request: Request) => outrider.keys.create(request),
    async onSent(key) {
      setCreated(key);
      await queryClient.invalidateQueries(queries.keys());
    },
  });
  if (created) {
    return (
      <Dialog
        open
        sheet
        onClose={() => setClosing(true)}
        title={isClosing ? "Close without saving the key?" : "Save this key now"}
        footer={
          <>
            {isClosing && <Button onClick={() => setClosing(false)}>Go back</Button>}
            <Button variant="primary" onClick={onClose}>
              {isClosing ? "Close anyway" : "I have saved it"}
            </Button>
          </>
        }
      >
        <CreatedKey created={created} isClosing={isClosing} />
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
          <Button variant="primary" type="submit" form={id} busy={form.isBusy}>
            Create key
          </Button>
        </>
      }
    >
      <form {...form.attributes} id={id} className="flex flex-col gap-5">
        <KeyFields form={form} isAdmin={isAdmin} />
        <FormErrors form={form} visuallyHidden />
      </form>
    </Dialog>
  );
}
