import clsx from "clsx";
import { useAttentionCount } from "./attention.ts";

/** Shows how many of the user's runs need attention. */
export function AttentionBadge({ className }: { className?: string }) {
  const { count, label } = useAttentionCount();
  if (count === 0) return null;
  return (
    <span
      className={clsx(
        "grid h-4.5 min-w-4.5 place-items-center rounded-full bg-warn-soft px-1 text-[11px] leading-none font-semibold text-warn tabular-nums",
        className,
      )}
    >
      <span aria-hidden>{label}</span>
      <span className="sr-only">
        , {label} {count === 1 ? "run needs" : "runs need"} attention
      </span>
    </span>
  );
}
