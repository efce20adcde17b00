import { CircleAlert } from "lucide-react";
import { wordsOf } from "../trouble.ts";
import { Button } from "./button.tsx";

/** What went wrong and what to do about it. Never a bare "something went wrong". */
export function Problem({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { title, detail, traceId } = wordsOf(error);
  return (
    <div
      role="alert"
      className="flex items-start gap-3 rounded-lg border border-bad/40 bg-bad-soft p-4 text-ink"
    >
      <CircleAlert className="mt-0.5 size-4 shrink-0 text-bad" aria-hidden />
      <div className="min-w-0 flex-1">
        <p className="font-medium">{title}</p>
        <p className="mt-0.5 break-words">{detail}</p>
        {traceId && <p className="mt-1 font-mono text-xs text-muted">trace {traceId}</p>}
      </div>
      {onRetry && (
        <Button small onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}
