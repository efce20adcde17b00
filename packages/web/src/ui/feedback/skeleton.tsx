import clsx from "clsx";

/** Shows a placeholder for content that is loading, which prevents the layout from shifting. */
export function Skeleton({ className }: { className?: string }) {
  return (
    <div aria-hidden className={clsx("animate-pulse rounded-md bg-raised", className ?? "h-4 w-full")} />
  );
}

const widths = Array.from({ length: 12 }, (_, row) => ["w-full", "w-5/6", "w-2/3"][row % 3]);

/** Shows placeholder rows for a list that is loading, with one label for screen readers. */
export function SkeletonRows({ rows = 6, label }: { rows?: number; label: string }) {
  return (
    <div role="status" className="flex flex-col gap-3 py-4">
      <span className="sr-only">{label}…</span>
      {widths.slice(0, rows).map((width, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are identical and never move.
        <Skeleton key={row} className={clsx("h-5", width)} />
      ))}
    </div>
  );
}
