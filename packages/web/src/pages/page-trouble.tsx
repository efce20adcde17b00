import { Problem } from "../ui/problem.tsx";

/** A page that broke says so in its place; the places beside it still work. */
export function PageTrouble({ error, reset }: { error: unknown; reset: () => void }) {
  return (
    <main id="main" className="mx-auto max-w-2xl p-6">
      <Problem error={error} onRetry={reset} />
    </main>
  );
}
