import { SetEmailRequest } from "@outrider/contract/auth/sign-in";
import { limits } from "@outrider/contract/limits";
import type { Me } from "@outrider/sdk";
import { useState } from "react";
import { setEmail } from "../../auth.ts";
import { showToast } from "../../frame/toasts.ts";
import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/form/fields.tsx";
import { FormErrors } from "../../ui/form/form-errors.tsx";
import { parseVerbatim, useRequestForm } from "../../ui/form/use-request-form.ts";

/** One minute less than the server's limit, to allow for clock differences. */
const FRESH_MS = (limits.signIn.freshMinutes - 1) * 60_000;

/** Shows the address that a user signs in with, and changes it. */
export function EmailForm({ me }: { me: Me }) {
  const [isOpen, setOpen] = useState(false);
  if (isOpen) return <OpenForm me={me} onClose={() => setOpen(false)} />;
  return (
    <div className="flex flex-wrap items-center gap-3">
      <div className="min-w-0 flex-1 basis-64">
        <p className="text-xs text-muted">Email address</p>
        <p className="break-all">{me.email ?? "None"}</p>
      </div>
      {me.session && <Button onClick={() => setOpen(true)}>Change email address</Button>}
    </div>
  );
}

function OpenForm({ me, onClose }: { me: Me; onClose: () => void }) {
  const { session } = me;
  const isFresh = session?.signed_in_by === "link" && Date.now() - Date.parse(session.created_at) < FRESH_MS;
  const form = useRequestForm({
    schema: SetEmailRequest,
    values: { email: me.email, current_password: undefined as string | undefined },
    send: setEmail,
    onSent() {
      showToast("Email address changed");
      onClose();
    },
  });
  return (
    <form {...form.attributes} className="flex max-w-md flex-col gap-4">
      <TextField
        label="Email address"
        {...form.field("email")}
        type="email"
        hint="You sign in with this address. Outrider sends no email."
        autoComplete="username"
        spellCheck={false}
      />
      {session?.has_password && !isFresh && (
        <TextField
          label="Current password"
          {...form.field("current_password", parseVerbatim)}
          type="password"
          autoComplete="current-password"
        />
      )}
      <FormErrors form={form} visuallyHidden />
      <div className="flex gap-2">
        <Button variant="primary" type="submit" busy={form.isBusy}>
          Change email address
        </Button>
        <Button onClick={onClose}>Cancel</Button>
      </div>
    </form>
  );
}
