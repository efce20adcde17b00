import { SetPasswordRequest } from "@outrider/contract/auth/sign-in";
import type { Me } from "@outrider/sdk";
import { setPassword } from "../../auth.ts";
import { Button } from "../../ui/button.tsx";
import { FormErrors } from "../../ui/form/form-errors.tsx";
import { parseVerbatim, useRequestForm } from "../../ui/form/use-request-form.ts";
import { NewPassword } from "./new-password.tsx";

/** Lets a user who signed in with a one-time link set a password for the next sign-in. */
export function FirstPassword({ me, onDone }: { me: Me; onDone: () => void }) {
  const form = useRequestForm({
    schema: SetPasswordRequest,
    values: { password: "" },
    send: setPassword,
    onSent: onDone,
  });
  return (
    <form {...form.attributes} className="flex flex-col gap-4">
      <h1 className="text-lg font-semibold">Welcome, {me.display_name}</h1>
      <p className="text-muted">You are signed in. Set a password to sign in without a link next time.</p>
      <NewPassword email={me.email} {...form.field("password", parseVerbatim)} />
      <FormErrors form={form} visuallyHidden />
      <Button variant="primary" type="submit" busy={form.isBusy}>
        Set password
      </Button>
      <Button variant="quiet" onClick={onDone}>
        Skip for now
      </Button>
    </form>
  );
}
