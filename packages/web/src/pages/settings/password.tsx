import type { Me } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { setPassword } from "../../auth.ts";
import { announce } from "../../shell/announcements.ts";
import { Button } from "../../ui/button.tsx";
import { Field, TextInput } from "../../ui/field.tsx";
import { Section } from "../../ui/page.tsx";
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
  return (
    <Section
      title="Password"
      lead={has ? "You have one." : "You have none: you come in by one-time links alone."}
      actions={
        !isOpen && <Button onClick={() => setOpen(true)}>{has ? "Change it" : "Set a password"}</Button>
      }
    >
      {isOpen ? (
        <form
          className="flex max-w-md flex-col gap-4"
          onSubmit={(event) => {
            event.preventDefault();
            mutate();
          }}
        >
          {has && !isFresh && (
            <Field label="Current password">
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
            <Button onClick={() => setOpen(false)}>Go back</Button>
          </div>
        </form>
      ) : (
        <p className="text-muted">
          Forgotten? An admin makes you a one-time link; for ten minutes after it no old password is asked
          for.
        </p>
      )}
    </Section>
  );
}
