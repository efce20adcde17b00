import type { Me } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { signInByLink } from "../../auth.ts";
import { Button } from "../../ui/button.tsx";
import { SignInError } from "./sign-in-error.tsx";

interface LinkFormProps {
  token: string;
  onSignedIn: (me: Me) => void;
  onUsePassword: () => void;
}

export function LinkForm({ token, onSignedIn, onUsePassword }: LinkFormProps) {
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => signInByLink(token),
    onSuccess: onSignedIn,
  });
  return (
    <div className="flex flex-col gap-4">
      <h1 className="text-lg font-semibold">Sign in</h1>
      <p className="text-muted">
        This link works once. Open it in the browser you want to use, then sign in.
      </p>
      {error && <SignInError error={error} />}
      <Button variant="primary" busy={isPending} onClick={() => mutate()}>
        {error ? "Try again" : "Sign in"}
      </Button>
      <Button variant="quiet" onClick={onUsePassword}>
        Use a password instead
      </Button>
    </div>
  );
}
