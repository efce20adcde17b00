import { useId } from "react";
import { ticksTo } from "../../../ui/charts/scale.ts";
import { formatDuration } from "../../../ui/format/time.tsx";

export interface ChartPoint {
  at: number;
  value: number;
}

interface ChartProps {
  points: readonly ChartPoint[];
  title: string;
  show: (value: number) => string;
}

const WIDTH = 800;
const HEIGHT = 200;

/** Shows a line chart. The same numbers are also available in a table. */
export function Chart({ points, title, show }: ChartProps) {
  const id = useId();
  const from = Math.min(...points.map(({ at }) => at));
  const to = Math.max(...points.map(({ at }) => at));
  const max = Math.max(...points.map(({ value }) => value), 0);
  const x = (at: number) => (to === from ? WIDTH : (WIDTH * (at - from)) / (to - from));
  const ticks = ticksTo(max, 2);
  const top = ticks.at(-1) as number;
  const y = (value: number) => HEIGHT - (HEIGHT * value) / top;
  const line = points
    .toSorted((a, b) => a.at - b.at)
    .map(({ at, value }) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`)
    .join(" L");
  const last = points.at(-1)?.value ?? 0;
  if (max === 0) return <p className="text-muted">Stayed at {show(0)}</p>;
  return (
    <figure>
      {/* The labels are above their lines, so that long ones need no column of their own. */}
      <div className="relative pt-5">
        {ticks.slice(1).map((value) => (
          <span
            key={value}
            className="absolute left-1 text-xs text-muted tabular-nums"
            style={{ top: `${12 * (y(value) / HEIGHT)}rem` }}
            aria-hidden
          >
            {show(value)}
          </span>
        ))}
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-labelledby={id}
          className="h-48 w-full overflow-visible border-b border-line"
        >
          <title id={id}>{`${title}: grew to ${show(last)} in ${formatDuration(to - from)}`}</title>
          {ticks.slice(1).map((value) => (
            <line
              key={value}
              x1={0}
              x2={WIDTH}
              y1={y(value)}
              y2={y(value)}
              vectorEffect="non-scaling-stroke"
              className="stroke-line"
            />
          ))}
          <path d={`M0,${HEIGHT} L${line} L${WIDTH},${HEIGHT} Z`} className="fill-accent-soft" />
          <path
            d={`M${line}`}
            fill="none"
            strokeWidth={2}
            vectorEffect="non-scaling-stroke"
            className="stroke-accent"
          />
        </svg>
      </div>
      <figcaption className="flex justify-between pt-1 text-xs text-muted tabular-nums" aria-hidden>
        <span>0</span>
        <span>{formatDuration(to - from)}</span>
      </figcaption>
    </figure>
  );
}
