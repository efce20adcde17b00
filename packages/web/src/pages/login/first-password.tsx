import type { Me } from "@outrider/sdk";
import { Button } from "../../ui/button.tsx";
import { AccountForm } from "../welcome/account-form.tsx";

/** Lets a user who signed in with a one-time link choose what to sign in with next time. */
export function FirstPassword({ me, onDone }: { me: Me; onDone: () => void }) {
  return (
    <div className="flex flex-col gap-4">
      <h1 className="text-lg font-semibold">Welcome, {me.display_name}</h1>
      <p className="text-muted">
        You are signed in. Check your address and set a password to sign in without a link next time.
      </p>
      <AccountForm me={me} action="Set password" onDone={onDone} />
      <Button variant="quiet" onClick={onDone}>
        Skip for now
      </Button>
    </div>
  );
}
