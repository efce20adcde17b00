import type { Me } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { setPassword } from "../../auth.ts";
import { Button } from "../../ui/button.tsx";
import { NewPassword } from "./new-password.tsx";
import { SignInTrouble } from "./sign-in-trouble.tsx";

/** Offered behind a one-time link, so that the next time needs none. */
export function FirstPassword({ me, onDone }: { me: Me; onDone: () => void }) {
  const [password, change] = useState("");
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => setPassword(password),
    onSuccess: onDone,
  });
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        mutate();
      }}
    >
      <h1 className="text-lg font-semibold">Welcome, {me.display_name}</h1>
      <p className="text-muted">You are signed in. With a password you can come back without a link.</p>
      <NewPassword email={me.email} value={password} onChange={change} />
      {error && <SignInTrouble error={error} />}
      <Button look="primary" type="submit" busy={isPending}>
        Set the password
      </Button>
      <Button look="quiet" onClick={onDone}>
        Skip for now
      </Button>
    </form>
  );
}
