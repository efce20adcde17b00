import clsx from "clsx";
import { ArrowDown, ArrowUp } from "lucide-react";

interface ChangeProps {
  now: number | undefined;
  before: number | undefined;
  better?: "higher" | "lower" | undefined;
  isShare?: boolean | undefined;
}

const number = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });

/** Shows how a value differs from the period before, such as ↑ 12%. */
export function Change({ now, before, better, isShare = false }: ChangeProps) {
  if (now === undefined || before === undefined || (!isShare && before === 0)) return null;
  const difference = isShare ? (now - before) * 100 : ((now - before) / before) * 100;
  const rounded = Math.abs(difference) >= 100 ? Math.round(difference) : Math.round(difference * 10) / 10;
  if (rounded === 0) return <span className="text-xs whitespace-nowrap text-muted">no change</span>;
  const isUp = rounded > 0;
  const Icon = isUp ? ArrowUp : ArrowDown;
  const isBetter = better && (better === "higher") === isUp;
  return (
    <span
      className={clsx(
        "inline-flex items-center gap-0.5 text-xs font-medium whitespace-nowrap tabular-nums",
        !better ? "text-muted" : isBetter ? "text-good" : "text-bad",
      )}
    >
      <Icon className="size-3" aria-hidden />
      <span className="sr-only">{isUp ? "up" : "down"}</span>
      {number.format(Math.abs(rounded))}
      {isShare ? " pp" : "%"}
      <span className="sr-only">compared with the period before</span>
    </span>
  );
}
