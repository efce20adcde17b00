import type { Me } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { setPassword } from "../../auth.ts";
import { announce } from "../../shell/announcements.ts";
import { Button } from "../../ui/button.tsx";
import { Field, TextInput } from "../../ui/field.tsx";
import { Problem } from "../../ui/problem.tsx";
import { NewPassword } from "../login/new-password.tsx";

/** For so long after a one-time link the server asks for no old password; a bit less, so that it agrees. */
const FRESH_MS = 9 * 60_000;

interface PasswordProps {
  session: NonNullable<Me["session"]>;
  email: string | undefined;
}

export function Password({ session, email }: PasswordProps) {
  const [isOpen, setOpen] = useState(false);
  const [current, setCurrent] = useState("");
  const [password, change] = useState("");
  const { has_password: has, signed_in_by: by, created_at } = session;
  const isFresh = by === "link" && Date.now() - Date.parse(created_at) < FRESH_MS;
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => setPassword(password, current),
    onSuccess() {
      announce(has ? "Your password is changed" : "Your password is set");
      setOpen(false);
      setCurrent("");
      change("");
    },
  });
  if (!isOpen) {
    return (
      <div className="flex flex-wrap items-center gap-3">
        <p className="min-w-0 flex-1 basis-64 text-muted">
          {has
            ? "You have a password. Changing it signs out all your other browsers."
            : "You have no password yet: you come in by one-time links alone."}
        </p>
        <Button onClick={() => setOpen(true)}>{has ? "Change the password" : "Set a password"}</Button>
      </div>
    );
  }
  return (
    <form
      className="flex max-w-md flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        mutate();
      }}
    >
      {has && !isFresh && (
        <Field
          label="Current password"
          hint="Forgotten? For ten minutes after a one-time link from an admin it is not asked for."
        >
          {(parts) => (
            <TextInput
              {...parts}
              type="password"
              autoComplete="current-password"
              required
              value={current}
              onChange={({ target }) => setCurrent(target.value)}
            />
          )}
        </Field>
      )}
      <NewPassword email={email} value={password} onChange={change} />
      {error && <Problem error={error} />}
      <div className="flex gap-2">
        <Button look="primary" type="submit" busy={isPending}>
          {has ? "Change the password" : "Set the password"}
        </Button>
        <Button onClick={() => setOpen(false)}>Cancel</Button>
      </div>
    </form>
  );
}
