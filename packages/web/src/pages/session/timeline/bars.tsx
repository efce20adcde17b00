import { useVirtualizer } from "@tanstack/react-virtual";
import clsx from "clsx";
import { type ReactNode, useLayoutEffect, useRef, useState } from "react";
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

const ROW = 24;

interface BarsProps {
  bars: readonly Bar[];
  span: Span;
  label: string;
}

/** Shows rows with one bar each on a shared time axis. Only the rows on screen are rendered. */
export function Bars({ bars, span, label }: BarsProps) {
  const list = useRef<HTMLUListElement>(null);
  const [frame, setFrame] = useState<{ scroller: HTMLElement; offset: number }>();
  // The rows above the list are counted whenever the number of rows changes.
  // biome-ignore lint/correctness/useExhaustiveDependencies: as above.
  useLayoutEffect(() => {
    const scroller = list.current?.closest<HTMLElement>("[data-scroller]");
    if (!scroller || !list.current) return;
    const top = list.current.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
    setFrame({ scroller, offset: top + scroller.scrollTop });
  }, [bars.length]);
  const rows = useVirtualizer({
    count: bars.length,
    getScrollElement: () => frame?.scroller ?? null,
    estimateSize: () => ROW,
    scrollMargin: frame?.offset ?? 0,
    overscan: 20,
    enabled: frame !== undefined,
  });
  return (
    <ul ref={list} aria-label={label} className="relative" style={{ height: bars.length * ROW }}>
      {rows.getVirtualItems().map(({ index, start }) => (
        <li
          key={index}
          aria-setsize={bars.length}
          aria-posinset={index + 1}
          className="absolute inset-x-0 top-0"
          style={{ transform: `translateY(${start - (frame?.offset ?? 0)}px)` }}
        >
          <BarRow bar={bars[index] as Bar} span={span} />
        </li>
      ))}
    </ul>
  );
}

function BarRow({ bar, span }: { bar: Bar; span: Span }) {
  const whole = Math.max(1, span.to - span.from);
  const percent = (ms: number) => `${(100 * ms) / whole}%`;
  return (
    <div
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
    </div>
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
