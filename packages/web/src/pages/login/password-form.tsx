import { useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { signInByPassword } from "../../auth.ts";
import { Button } from "../../ui/button.tsx";
import { Disclosure } from "../../ui/disclosure.tsx";
import { Field, TextInput } from "../../ui/field.tsx";
import { Snippet } from "../../ui/snippet.tsx";
import { SignInTrouble } from "./sign-in-trouble.tsx";

/** The page looks at who is signed in by itself, so a success needs nothing more here. */
export function PasswordForm() {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const passwordBox = useRef<HTMLInputElement>(null);
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => signInByPassword(email.trim(), password),
    onError: () => passwordBox.current?.select(),
  });
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        mutate();
      }}
    >
      <h1 className="text-lg font-semibold">Sign in</h1>
      <Field label="E-mail address">
        {(parts) => (
          <TextInput
            {...parts}
            // Not "email": the first admin's address has no dot, and browsers differ in what they take.
            inputMode="email"
            autoComplete="username"
            autoCapitalize="none"
            spellCheck={false}
            required
            value={email}
            onChange={({ target }) => setEmail(target.value)}
          />
        )}
      </Field>
      <Field label="Password">
        {(parts) => (
          <TextInput
            {...parts}
            ref={passwordBox}
            type="password"
            autoComplete="current-password"
            required
            value={password}
            onChange={({ target }) => setPassword(target.value)}
          />
        )}
      </Field>
      {error && <SignInTrouble error={error} />}
      <Button look="primary" type="submit" busy={isPending}>
        Sign in
      </Button>
      <Disclosure summary="No password, or forgotten?">
        <p className="pb-2 text-muted">
          Ask an admin for a one-time link: Settings, People. On the server's own machine this prints one:
        </p>
        <Snippet what="command" code={`outrider person link ${email.trim() || "you@example.com"}`} />
      </Disclosure>
    </form>
  );
}
