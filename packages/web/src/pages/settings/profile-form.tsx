import { UpdateUserRequest } from "@outrider/contract/auth/user";
import type { Me, UpdateUserRequest as Request } from "@outrider/sdk";
import { outrider } from "../../api.ts";
import { showToast } from "../../frame/toasts.ts";
import { queries, queryClient } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { Field, TextInput } from "../../ui/form/field.tsx";
import { FormErrors } from "../../ui/form/form-errors.tsx";
import { useRequestForm } from "../../ui/form/use-request-form.ts";
import { roleLabels } from "./role-labels.ts";

/** Edits the user's name. Only admins can change names, including their own, because names are shown on all runs. */
export function ProfileForm({ me }: { me: Me }) {
  const isAdmin = me.role === "admin";
  const form = useRequestForm({
    schema: UpdateUserRequest.required({ display_name: true }),
    values: { display_name: me.display_name },
    send: (request: Request) => outrider.users.update(me.uid, request),
    async onSent({ display_name }) {
      form.reset({ display_name });
      await Promise.all([
        queryClient.invalidateQueries(queries.me()),
        queryClient.invalidateQueries(queries.users()),
      ]);
      showToast("Name changed");
    },
  });
  const { error, ...input } = form.field("display_name");
  return (
    <form {...form.attributes} className="flex flex-col gap-4">
      <dl className="flex flex-wrap gap-x-8 gap-y-2">
        <div>
          <dt className="text-xs text-muted">Role</dt>
          <dd>{roleLabels[me.role ?? "member"]}</dd>
        </div>
      </dl>
      <Field
        label="Name"
        hint={isAdmin ? "Shown on your runs." : "Only an admin can change it."}
        error={error}
      >
        {(parts) => (
          <div className="flex max-w-md gap-2">
            <TextInput {...parts} {...input} required disabled={!isAdmin} />
            {isAdmin && (
              <Button type="submit" busy={form.isBusy} disabled={!form.isDirty}>
                Save
              </Button>
            )}
          </div>
        )}
      </Field>
      <FormErrors form={form} visuallyHidden />
    </form>
  );
}
