import { APIStatusError } from "@outrider/sdk";
import { CircleAlert } from "lucide-react";
import { describeDetail, describeError } from "../../request-error.ts";
import { InlineCode } from "../../ui/text/inline-code.tsx";

/**
 * Explains why the sign-in failed. Only the server's explanation is shown, because a 401 elsewhere means that the
 * session has ended.
 */
export function SignInError({ error }: { error: unknown }) {
  const detail = error instanceof APIStatusError ? describeDetail(error) : describeError(error).detail;
  return (
    <p role="alert" className="flex gap-2 rounded-md bg-bad-soft p-3">
      <CircleAlert className="mt-0.5 size-4 shrink-0 text-bad" aria-hidden />
      <span className="min-w-0 break-words">
        <InlineCode text={detail} />
      </span>
    </p>
  );
}
