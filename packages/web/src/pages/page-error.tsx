import { ErrorAlert } from "../ui/feedback/error-alert.tsx";

/** Replaces a page that failed to render. The navigation remains usable. */
export function PageError({ error, reset }: { error: unknown; reset: () => void }) {
  return (
    <main id="main" className="mx-auto max-w-2xl p-6">
      <ErrorAlert error={error} onRetry={reset} />
    </main>
  );
}
