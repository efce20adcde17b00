import { AccountValues } from "@outrider/contract/auth/sign-in";
import type { Me } from "@outrider/sdk";
import { outrider } from "../../api.ts";
import { setEmail, setPassword } from "../../auth.ts";
import { queries, queryClient } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/form/fields.tsx";
import { FormErrors } from "../../ui/form/form-errors.tsx";
import { parseVerbatim, useRequestForm } from "../../ui/form/use-request-form.ts";
import { NewPassword } from "../login/new-password.tsx";

interface AccountFormProps {
  me: Me;
  action: string;
  onDone: () => void;
}

/** Sets what a user signs in with, and the name on their runs. Only admins can change names. */
export function AccountForm({ me, action, onDone }: AccountFormProps) {
  const isAdmin = me.role === "admin";
  const form = useRequestForm({
    schema: AccountValues,
    values: { display_name: me.display_name, email: me.email, password: undefined as string | undefined },
    async send({ display_name, email, password }: AccountValues) {
      if (isAdmin && display_name !== me.display_name) await outrider.users.update(me.uid, { display_name });
      // The password comes before the address, which identifies the account in this session.
      await setPassword({ password });
      if (email !== me.email) await setEmail({ email });
      await queryClient.invalidateQueries(queries.me());
    },
    onSent: onDone,
  });
  return (
    <form {...form.attributes} className="flex flex-col gap-4">
      <TextField
        label="Name"
        {...form.field("display_name")}
        disabled={!isAdmin}
        hint="Shown on your runs."
        autoComplete="name"
      />
      <TextField
        label="Email address"
        {...form.field("email")}
        hint="You sign in with this address. Outrider sends no email."
        type="email"
        autoComplete="username"
        spellCheck={false}
      />
      <NewPassword email={form.watch("email")} {...form.field("password", parseVerbatim)} />
      <FormErrors form={form} visuallyHidden />
      <Button variant="primary" type="submit" busy={form.isBusy}>
        {action}
      </Button>
    </form>
  );
}
