import { SetPasswordRequest } from "@outrider/contract/auth/sign-in";
import { limits } from "@outrider/contract/limits";
import type { Me } from "@outrider/sdk";
import { useState } from "react";
import { setPassword } from "../../auth.ts";
import { showToast } from "../../frame/toasts.ts";
import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/form/fields.tsx";
import { FormErrors } from "../../ui/form/form-errors.tsx";
import { parseVerbatim, useRequestForm } from "../../ui/form/use-request-form.ts";
import { NewPassword } from "../login/new-password.tsx";

/**
 * The server does not ask for the old password shortly after a sign-in with a one-time link. One minute is subtracted
 * to allow for clock differences.
 */
const FRESH_MS = (limits.signIn.freshMinutes - 1) * 60_000;

interface PasswordProps {
  session: NonNullable<Me["session"]>;
  email: string | undefined;
}

export function Password({ session, email }: PasswordProps) {
  const [isOpen, setOpen] = useState(false);
  const { has_password: has } = session;
  if (isOpen) return <PasswordForm session={session} email={email} onClose={() => setOpen(false)} />;
  return (
    <div className="flex flex-wrap items-center gap-3">
      <p className="min-w-0 flex-1 basis-64 text-muted">
        {has
          ? "Changing your password signs out all your other browsers."
          : "You have no password yet and sign in with one-time links."}
      </p>
      <Button onClick={() => setOpen(true)}>{has ? "Change password" : "Set password"}</Button>
    </div>
  );
}

function PasswordForm({ session, email, onClose }: PasswordProps & { onClose: () => void }) {
  const { has_password: has, signed_in_by: by, created_at } = session;
  const isFresh = by === "link" && Date.now() - Date.parse(created_at) < FRESH_MS;
  const form = useRequestForm({
    schema: SetPasswordRequest,
    values: { password: "", current_password: undefined },
    send: setPassword,
    onSent() {
      showToast(has ? "Password changed" : "Password set");
      onClose();
    },
  });
  return (
    <form {...form.attributes} className="flex max-w-md flex-col gap-4">
      {has && !isFresh && (
        <TextField
          label="Current password"
          {...form.field("current_password", parseVerbatim)}
          hint={`Forgot it? Ask an admin for a one-time link. For ${limits.signIn.freshMinutes} minutes after using it, you can set a new password without the old one.`}
          type="password"
          autoComplete="current-password"
          required
        />
      )}
      <NewPassword email={email} {...form.field("password", parseVerbatim)} />
      <FormErrors form={form} visuallyHidden />
      <div className="flex gap-2">
        <Button variant="primary" type="submit" busy={form.isBusy}>
          {has ? "Change password" : "Set password"}
        </Button>
        <Button onClick={onClose}>Cancel</Button>
      </div>
    </form>
  );
}
