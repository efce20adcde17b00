import clsx from "clsx";
import type { ReactNode } from "react";
import { durationWords } from "../../../ui/time.tsx";

export interface Bar {
  key: string;
  label: ReactNode;
  /** The same in plain words, with everything the bar shows. */
  words: string;
  from: number;
  to: number;
  colour: string;
}

export interface Span {
  from: number;
  to: number;
}

/** Rows with a bar each on one axis of time. Narrow ones stay visible. */
export function Bars({ bars, span, label }: { bars: readonly Bar[]; span: Span; label: string }) {
  const whole = Math.max(1, span.to - span.from);
  const percent = (ms: number) => `${(100 * ms) / whole}%`;
  return (
    <ul aria-label={label} className="flex flex-col">
      {bars.map((bar) => (
        <li
          key={bar.key}
          title={bar.words}
          className="grid grid-cols-[7rem_minmax(0,1fr)_4.5rem] items-center gap-3 rounded-md px-2 hover:bg-raised sm:grid-cols-[16rem_minmax(0,1fr)_5.5rem]"
        >
          <span className="min-w-0 truncate text-xs leading-6">{bar.label}</span>
          <span className="relative block h-4 rounded bg-raised" aria-hidden>
            <span
              className={clsx("absolute inset-y-0 min-w-0.5 rounded", bar.colour)}
              style={{ left: percent(bar.from - span.from), width: percent(bar.to - bar.from) }}
            />
          </span>
          <span className="whitespace-nowrap text-right text-xs text-muted tabular-nums">
            {durationWords(bar.to - bar.from)}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** Where the axis stands: begin, quarters and end, as time since the beginning. */
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
        <span className="max-sm:hidden">{durationWords(whole / 2)}</span>
        <span>{durationWords(whole)}</span>
      </span>
    </div>
  );
}
