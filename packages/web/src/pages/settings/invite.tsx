import type { InvitePersonRequest, Role } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { useId, useState } from "react";
import { outrider } from "../../api.ts";
import { queries, queryClient } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, Select, TextInput } from "../../ui/field.tsx";
import { Problem } from "../../ui/problem.tsx";
import type { HandedLink } from "./link-once.tsx";

interface InviteProps {
  onClose: () => void;
  onInvited: (link: HandedLink) => void;
}

export function Invite({ onClose, onInvited }: InviteProps) {
  const form = useId();
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("member");
  const { mutate, isPending, error } = useMutation({
    mutationFn: (request: InvitePersonRequest) => outrider.people.invite(request),
    async onSuccess({ person, ...link }) {
      await queryClient.invalidateQueries(queries.people());
      onInvited({ ...link, display_name: person.display_name });
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title="Invite somebody"
      description="You get a link to hand over: Outrider sends no mail."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" form={form} busy={isPending}>
            Make the link
          </Button>
        </>
      }
    >
      <form
        id={form}
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          mutate({ email: email.trim(), display_name: name.trim(), role });
        }}
      >
        <Field label="Name" hint="As it stands on their runs.">
          {(parts) => (
            <TextInput
              {...parts}
              required
              maxLength={128}
              value={name}
              onChange={({ target }) => setName(target.value)}
            />
          )}
        </Field>
        <Field label="E-mail address" hint="They sign in with it.">
          {(parts) => (
            <TextInput
              {...parts}
              inputMode="email"
              autoCapitalize="none"
              spellCheck={false}
              required
              value={email}
              onChange={({ target }) => setEmail(target.value)}
            />
          )}
        </Field>
        <Field label="Role" hint={roleWords[role]}>
          {(parts) => (
            <Select {...parts} value={role} onChange={({ target }) => setRole(target.value as Role)}>
              <option value="member">Member</option>
              <option value="admin">Admin</option>
            </Select>
          )}
        </Field>
        {error && <Problem error={error} />}
      </form>
    </Dialog>
  );
}

const roleWords: Record<Role, string> = {
  member: "Sees all runs, creates runs, and steers their own and their cloud agents'.",
  admin: "Everything: people, secrets, environments, workers, everybody's runs and keys.",
};
