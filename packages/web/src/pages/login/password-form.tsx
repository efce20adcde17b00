import { SignInRequest } from "@outrider/contract/auth/sign-in";
import { signInByPassword } from "../../auth.ts";
import { sessionEnded } from "../../request-error.ts";
import { Button } from "../../ui/button.tsx";
import { Disclosure } from "../../ui/disclosure.tsx";
import { TextField } from "../../ui/form/fields.tsx";
import { FormErrors } from "../../ui/form/form-errors.tsx";
import { parseVerbatim, useRequestForm } from "../../ui/form/use-request-form.ts";
import { Snippet } from "../../ui/text/snippet.tsx";
import { SignInError } from "./sign-in-error.tsx";

interface PasswordFormProps {
  /** Whether the page was opened because the user's session has ended. */
  hasEnded: boolean;
}

/** Signs the user in with a password. It needs no success callback, because the login page watches the current user. */
export function PasswordForm({ hasEnded }: PasswordFormProps) {
  const form = useRequestForm({
    schema: SignInRequest,
    values: { email: undefined as string | undefined, password: undefined },
    send: signInByPassword,
    onSent() {},
    onError: () => form.setFocus("password", { shouldSelect: true }),
  });
  return (
    <form {...form.attributes} className="flex flex-col gap-4">
      <h1 className="text-lg font-semibold">Sign in</h1>
      {hasEnded && (
        <p role="status" className="rounded-md bg-warn-soft px-3 py-2">
          {sessionEnded}
        </p>
      )}
      <TextField
        label="Email address"
        {...form.field("email")}
        // The type is not "email" because the first admin's address has no dot, and some browsers reject such
        // addresses.
        inputMode="email"
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        required
      />
      <TextField
        label="Password"
        {...form.field("password", parseVerbatim)}
        type="password"
        autoComplete="current-password"
        required
      />
      {form.error ? <SignInError error={form.error} /> : <FormErrors form={form} visuallyHidden />}
      <Button variant="primary" type="submit" busy={form.isBusy}>
        Sign in
      </Button>
      <Disclosure summary="Forgot your password?">
        <p className="pb-2 text-muted">
          Ask an admin to create a sign-in link under Settings → Users. On the server itself, run:
        </p>
        <Snippet
          what="command"
          code={`outrider admin sign-in-link ${form.watch("email") ?? "you@example.com"}`}
        />
      </Disclosure>
    </form>
  );
}
