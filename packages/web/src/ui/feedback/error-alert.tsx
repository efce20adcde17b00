import { CircleAlert } from "lucide-react";
import { signInPathOfPage } from "../../frame/sign-in-path.ts";
import { describeError } from "../../request-error.ts";
import { Button, buttonClass } from "../button.tsx";
import { InlineCode } from "../text/inline-code.tsx";

/** Shows what went wrong and how to fix it. */
export function ErrorAlert({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { title, detail, traceId, isSignedOut } = describeError(error);
  return (
    <div
      role="alert"
      className="flex items-start gap-3 rounded-lg border border-bad/40 bg-bad-soft p-4 text-ink"
    >
      <CircleAlert className="mt-0.5 size-4 shrink-0 text-bad" aria-hidden />
      <div className="min-w-0 flex-1">
        <p className="font-medium">{title}</p>
        <p className="mt-0.5 break-words">
          <InlineCode text={detail} />
        </p>
        {traceId && <p className="mt-1 font-mono text-xs text-muted">Trace ID: {traceId}</p>}
      </div>
      {isSignedOut ? (
        <a href={signInPathOfPage({ ended: false })} className={buttonClass("plain", { small: true })}>
          Sign in
        </a>
      ) : onRetry ? (
        <Button small onClick={onRetry}>
          Try again
        </Button>
      ) : null}
    </div>
  );
}
