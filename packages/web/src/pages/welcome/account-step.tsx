import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { showToast } from "../../frame/toasts.ts";
import { queries } from "../../queries.ts";
import { Button, buttonClass } from "../../ui/button.tsx";
import { Skeleton } from "../../ui/feedback/skeleton.tsx";
import { AccountForm } from "./account-form.tsx";
import { Step } from "./step.tsx";

/** Says which address the user signs in with. The first admin did not choose it. */
export function AccountStep({ number }: { number: number }) {
  const { data: me } = useQuery(queries.me());
  const [isOpen, setOpen] = useState(false);
  if (!me) {
    return (
      <Step number={number} title="Your account" state="open">
        <Skeleton className="h-5 w-1/2" />
      </Step>
    );
  }
  const hasPassword = me.session?.has_password ?? true;
  return (
    <Step number={number} title="Your account" state={hasPassword ? "done" : "open"}>
      <div className="flex flex-wrap items-center gap-3">
        <p className="min-w-0 flex-1 basis-64 break-words text-muted">
          You sign in as <strong className="font-medium text-ink">{me.email}</strong>{" "}
          {hasPassword ? "with your password." : "with one-time links, because you have no password yet."}
        </p>
        {hasPassword && (
          <Link to="/settings" className={buttonClass()}>
            Change in Settings
          </Link>
        )}
        {!hasPassword && !isOpen && <Button onClick={() => setOpen(true)}>Set up your account</Button>}
      </div>
      {isOpen && (
        <div className="max-w-md pt-3">
          <AccountForm
            me={me}
            action="Save"
            onDone={() => {
              showToast("Account saved");
              setOpen(false);
            }}
          />
        </div>
      )}
    </Step>
  );
}
