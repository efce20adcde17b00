import { RateLimitError } from "@outrider/sdk";
import { CircleAlert } from "lucide-react";
import { describeError } from "../../request-error.ts";

/**
 * Explains why the sign-in failed. Only the detail is shown, because the usual title for a 401 is "You are signed out".
 */
export function SignInError({ error }: { error: unknown }) {
  const wait = error instanceof RateLimitError ? retryHint(error) : undefined;
  return (
    <p role="alert" className="flex gap-2 rounded-md bg-bad-soft p-3">
      <CircleAlert className="mt-0.5 size-4 shrink-0 text-bad" aria-hidden />
      <span className="min-w-0 break-words">
        {describeError(error).detail} {wait}
      </span>
    </p>
  );
}

function retryHint({ headers }: RateLimitError): string | undefined {
  const seconds = Number(headers.get("retry-after"));
  if (!seconds) return undefined;
  const minutes = Math.ceil(seconds / 60);
  return minutes > 1 ? `Try again in ${minutes} minutes.` : "Try again in 1 minute.";
}
