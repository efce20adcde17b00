import { InviteUserRequest, Role } from "@outrider/contract/auth/user";
import type { InviteUserRequest as Request } from "@outrider/sdk";
import { useId } from "react";
import { outrider } from "../../api.ts";
import { queries, queryClient } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { SelectField, TextField } from "../../ui/form/fields.tsx";
import { FormErrors } from "../../ui/form/form-errors.tsx";
import { useRequestForm } from "../../ui/form/use-request-form.ts";
import { Dialog } from "../../ui/overlay/dialog.tsx";
import { roleLabels } from "./role-labels.ts";
import type { CreatedLink } from "./sign-in-link.tsx";

interface InviteProps {
  onClose: () => void;
  onInvited: (link: CreatedLink) => void;
}

export function Invite({ onClose, onInvited }: InviteProps) {
  const id = useId();
  const form = useRequestForm({
    schema: InviteUserRequest,
    values: { display_name: undefined, email: undefined, role: "member" as Role },
    send: (request: Request) => outrider.users.invite(request),
    async onSent({ user, ...link }) {
      await queryClient.invalidateQueries(queries.users());
      onInvited({ ...link, display_name: user.display_name });
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title="Invite user"
      description="You get a sign-in link to send them. Outrider does not send email."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" form={id} busy={form.isBusy}>
            Create link
          </Button>
        </>
      }
    >
      <form {...form.attributes} id={id} className="flex flex-col gap-4">
        <TextField label="Name" {...form.field("display_name")} required hint="Shown on their runs." />
        <TextField
          label="Email address"
          {...form.field("email")}
          hint="Used to sign in."
          inputMode="email"
          autoCapitalize="none"
          spellCheck={false}
          required
        />
        <SelectField label="Role" {...form.select("role")} hint={roleHints[form.watch("role")]}>
          {Role.options.map((role) => (
            <option key={role} value={role}>
              {roleLabels[role]}
            </option>
          ))}
        </SelectField>
        <FormErrors form={form} visuallyHidden />
      </form>
    </Dialog>
  );
}

const roleHints: Record<Role, string> = {
  member: "Sees all runs, creates runs, and manages their own runs and those of their cloud agents.",
  admin: "Full access: users, secrets, environments, workers, and all runs and keys.",
};
