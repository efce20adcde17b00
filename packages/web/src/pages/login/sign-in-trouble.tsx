import { RateLimitError } from "@outrider/sdk";
import { CircleAlert } from "lucide-react";
import { wordsOf } from "../../trouble.ts";

/** Why nobody came in, and what to do. A refusal here is no sign-out, so it has words of its own. */
export function SignInTrouble({ error }: { error: unknown }) {
  const wait = error instanceof RateLimitError ? waitWords(error) : undefined;
  return (
    <p role="alert" className="flex gap-2 rounded-md bg-bad-soft p-3">
      <CircleAlert className="mt-0.5 size-4 shrink-0 text-bad" aria-hidden />
      <span className="min-w-0 break-words">
        {wordsOf(error).detail} {wait}
      </span>
    </p>
  );
}

function waitWords({ headers }: RateLimitError): string | undefined {
  const seconds = Number(headers.get("retry-after"));
  if (!seconds) return undefined;
  const minutes = Math.ceil(seconds / 60);
  return minutes > 1 ? `Try again in ${minutes} minutes.` : "Try again in a minute.";
}
