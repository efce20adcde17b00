import clsx from "clsx";
import { useId } from "react";
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
  const y = (value: number) => HEIGHT - (HEIGHT * value) / max;
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
        {[
          { value: max, top: "top-0" },
          { value: max / 2, top: "top-24" },
        ].map(({ value, top }) => (
          <span
            key={top}
            className={clsx("absolute left-1 text-xs text-muted tabular-nums", top)}
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
          {[0, HEIGHT / 2].map((height) => (
            <line
              key={height}
              x1={0}
              x2={WIDTH}
              y1={height}
              y2={height}
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
