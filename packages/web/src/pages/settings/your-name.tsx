import type { Me } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { outrider } from "../../api.ts";
import { queries, queryClient } from "../../queries.ts";
import { announce } from "../../shell/announcements.ts";
import { Button } from "../../ui/button.tsx";
import { Field, TextInput } from "../../ui/field.tsx";
import { Problem } from "../../ui/problem.tsx";

/** Names stand on everybody's runs, so admins are the ones who change them, their own included. */
export function YourName({ me }: { me: Me }) {
  const [name, setName] = useState(me.display_name);
  const isAdmin = me.role === "admin";
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => outrider.people.update(me.uid, { display_name: name.trim() }),
    async onSuccess() {
      await Promise.all([
        queryClient.invalidateQueries(queries.me()),
        queryClient.invalidateQueries(queries.people()),
      ]);
      announce("Your name is changed");
    },
  });
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        mutate();
      }}
    >
      <dl className="flex flex-wrap gap-x-8 gap-y-2">
        <div>
          <dt className="text-xs text-muted">E-mail address</dt>
          <dd className="break-all">{me.email ?? "None"}</dd>
        </div>
        <div>
          <dt className="text-xs text-muted">Role</dt>
          <dd>{isAdmin ? "Admin" : "Member"}</dd>
        </div>
      </dl>
      <Field label="Name" hint={isAdmin ? "As others see it on your runs." : "An admin can change it."}>
        {(parts) => (
          <div className="flex max-w-md gap-2">
            <TextInput
              {...parts}
              required
              maxLength={128}
              disabled={!isAdmin}
              value={name}
              onChange={({ target }) => setName(target.value)}
            />
            {isAdmin && (
              <Button type="submit" busy={isPending} disabled={name.trim() === me.display_name}>
                Save
              </Button>
            )}
          </div>
        )}
      </Field>
      {error && <Problem error={error} />}
    </form>
  );
}
