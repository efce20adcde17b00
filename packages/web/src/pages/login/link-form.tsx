import type { Me } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { signInByLink } from "../../auth.ts";
import { Button } from "../../ui/button.tsx";
import { SignInTrouble } from "./sign-in-trouble.tsx";

interface LinkFormProps {
  token: string;
  onSignedIn: (me: Me) => void;
  onOtherWay: () => void;
}

export function LinkForm({ token, onSignedIn, onOtherWay }: LinkFormProps) {
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => signInByLink(token),
    onSuccess: onSignedIn,
  });
  return (
    <div className="flex flex-col gap-4">
      <h1 className="text-lg font-semibold">Sign in</h1>
      <p className="text-muted">
        This link signs in once. Press the button in the browser that you want to work in.
      </p>
      {error && <SignInTrouble error={error} />}
      <Button look="primary" busy={isPending} onClick={() => mutate()}>
        {error ? "Try again" : "Sign in"}
      </Button>
      <Button look="quiet" onClick={onOtherWay}>
        Use a password instead
      </Button>
    </div>
  );
}
