import clsx from "clsx";

/** Where something will stand: the page does not jump when it comes. */
export function Skeleton({ className }: { className?: string }) {
  return (
    <div aria-hidden className={clsx("animate-pulse rounded-md bg-raised", className ?? "h-4 w-full")} />
  );
}

const widths = Array.from({ length: 12 }, (_, row) => ["w-full", "w-5/6", "w-2/3"][row % 3]);

/** Rows of a list that is being fetched; said once to who cannot see it. */
export function SkeletonRows({ rows = 6, label = "Loading" }: { rows?: number; label?: string }) {
  return (
    <div role="status" className="flex flex-col gap-3 py-4">
      <span className="sr-only">{label}…</span>
      {widths.slice(0, rows).map((width, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike and stay where they are.
        <Skeleton key={row} className={clsx("h-5", width)} />
      ))}
    </div>
  );
}
