import clsx from "clsx";
import type { ReactNode } from "react";
import { formatDuration } from "../../../ui/format/time.tsx";

export interface Bar {
  key: string;
  label: ReactNode;
  /** Describes the bar in words, including the outcome. */
  description: string;
  from: number;
  to: number;
  color: string;
}

export interface Span {
  from: number;
  to: number;
}

/** Shows rows with one bar each on a shared time axis. */
export function Bars({ bars, span, label }: { bars: readonly Bar[]; span: Span; label: string }) {
  const whole = Math.max(1, span.to - span.from);
  const percent = (ms: number) => `${(100 * ms) / whole}%`;
  return (
    <ul aria-label={label} className="flex flex-col">
      {bars.map((bar) => (
        <li
          key={bar.key}
          title={bar.description}
          className="grid grid-cols-[7rem_minmax(0,1fr)_4.5rem] items-center gap-3 rounded-md px-2 hover:bg-raised sm:grid-cols-[16rem_minmax(0,1fr)_5.5rem]"
        >
          <span className="min-w-0 truncate text-xs leading-6">{bar.label}</span>
          <span className="relative block h-4 rounded bg-raised" aria-hidden>
            <span
              className={clsx("absolute inset-y-0 min-w-0.5 rounded", bar.color)}
              style={{ left: percent(bar.from - span.from), width: percent(bar.to - bar.from) }}
            />
          </span>
          <span className="whitespace-nowrap text-right text-xs text-muted tabular-nums">
            {formatDuration(bar.to - bar.from)}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** Shows the time axis labels, relative to the start. */
export function Axis({ span }: { span: Span }) {
  const whole = span.to - span.from;
  return (
    <div
      aria-hidden
      className="grid grid-cols-[7rem_minmax(0,1fr)_4.5rem] gap-3 px-2 pb-1 text-xs text-muted sm:grid-cols-[16rem_minmax(0,1fr)_5.5rem]"
    >
      <span />
      <span className="flex justify-between tabular-nums">
        <span>0</span>
        <span className="max-sm:hidden">{formatDuration(whole / 2)}</span>
        <span>{formatDuration(whole)}</span>
      </span>
    </div>
  );
}
