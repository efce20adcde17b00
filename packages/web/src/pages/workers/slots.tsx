import type { Worker } from "@outrider/sdk";

/** Shows a worker's used slots as text and as a bar. */
export function Slots({ worker: { busy, slots } }: { worker: Worker }) {
  return (
    <div className="w-28">
      <span className="text-xs whitespace-nowrap tabular-nums">
        {busy} of {slots} in use
      </span>
      <div className="mt-1 h-1.5 overflow-hidden rounded-full bg-pressed" aria-hidden>
        <div
          className="h-full rounded-full bg-accent"
          style={{ width: `${(100 * Math.min(busy, slots)) / slots}%` }}
        />
      </div>
    </div>
  );
}
