import { limits } from "@outrider/contract/limits";
import type { View } from "@outrider/sdk";
import { useState } from "react";
import { Button } from "../../ui/button.tsx";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { Checkbox, Field, TextInput } from "../../ui/form/field.tsx";
import { Form } from "../../ui/form/form.tsx";
import { Dialog } from "../../ui/overlay/dialog.tsx";

interface ViewDialogProps {
  /** The view to rename. Undefined for a new view. */
  view: View | undefined;
  onClose: () => void;
  onSave: (values: { name: string; is_shared: boolean }) => Promise<void>;
}

export function ViewDialog({ view, onClose, onSave }: ViewDialogProps) {
  const [name, setName] = useState(view?.name ?? "");
  const [isShared, setShared] = useState(view?.is_shared ?? false);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const [wasSent, setWasSent] = useState(false);
  async function save() {
    setWasSent(true);
    if (!name.trim() || isBusy) return;
    setBusy(true);
    setError(undefined);
    try {
      await onSave({ name: name.trim(), is_shared: isShared });
    } catch (caught) {
      setError(caught);
      setBusy(false);
    }
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title={view ? "Rename view" : "Save view"}
      {...(!view && { description: "Saves the filters, search, sort order and columns." })}
    >
      <Form onSubmit={() => void save()} className="flex flex-col gap-4">
        <Field label="Name" error={wasSent && !name.trim() ? "is required" : undefined}>
          {(parts) => (
            <TextInput
              {...parts}
              data-autofocus
              value={name}
              maxLength={limits.nameCharacters}
              onChange={({ target }) => setName(target.value)}
            />
          )}
        </Field>
        <Checkbox
          label="Share with everyone"
          hint="All users see the view. Only you and admins can change it."
          checked={isShared}
          onChange={({ target }) => setShared(target.checked)}
        />
        {error !== undefined && <ErrorAlert error={error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" busy={isBusy}>
            Save
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
