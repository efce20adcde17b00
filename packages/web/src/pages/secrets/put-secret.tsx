import { PutSecretRequest, SecretName } from "@outrider/contract/secret";
import { useId } from "react";
import { outrider } from "../../api.ts";
import { showToast } from "../../frame/toasts.ts";
import { queryClient } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/form/fields.tsx";
import { FormErrors } from "../../ui/form/form-errors.tsx";
import { useRequestForm } from "../../ui/form/use-request-form.ts";
import { Dialog } from "../../ui/overlay/dialog.tsx";
import { SecretValue } from "./secret-value.tsx";

interface PutSecretProps {
  /** The name of the existing secret to replace. If absent, a new secret is created. */
  name?: string;
  /** Existing names, which a new secret must not overwrite. */
  taken: string[];
  onClose: () => void;
}

export function PutSecret({ name: known, taken, onClose }: PutSecretProps) {
  const id = useId();
  const form = useRequestForm({
    schema: PutSecretRequest.extend({
      name: SecretName.refine(
        (name) => !taken.includes(name),
        "is already in use; replace that secret, or choose another name",
      ),
    }),
    values: { name: known, value: "" },
    send: ({ name, value }: { name: string; value: string }) => outrider.secrets.put(name, { value }),
    onSent: () => {
      void queryClient.invalidateQueries({ queryKey: ["secrets"] });
      showToast(known ? "Secret replaced. New runs use the new value." : "Secret added");
      onClose();
    },
  });
  return (
    <Dialog
      open
      keepOpen
      onClose={onClose}
      title={known ? `Replace ${known}` : "Add secret"}
      description={known ? "This overwrites the current value." : undefined}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={id} variant="primary" busy={form.isBusy}>
            {known ? "Replace secret" : "Add secret"}
          </Button>
        </>
      }
    >
      <form {...form.attributes} id={id} className="flex flex-col gap-4">
        {!known && (
          <TextField
            label="Name"
            {...form.field("name")}
            hint="Runs get it as an environment variable with this name."
            data-autofocus
            required
            placeholder="GITHUB_TOKEN"
            spellCheck={false}
            className="font-mono text-xs"
          />
        )}
        <SecretValue isFirst={known !== undefined} {...form.bind("value")} />
        <FormErrors form={form} visuallyHidden />
      </form>
    </Dialog>
  );
}
