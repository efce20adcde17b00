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
  const from = points[0]?.at ?? 0;
  const to = points.at(-1)?.at ?? 0;
  const max = Math.max(...points.map(({ value }) => value), 0);
  const x = (at: number) => (to === from ? WIDTH : (WIDTH * (at - from)) / (to - from));
  const y = (value: number) => HEIGHT - (HEIGHT * value) / max;
  const line = points.map(({ at, value }) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(" L");
  const last = points.at(-1)?.value ?? 0;
  if (max === 0) return <p className="text-muted">Stayed at {show(0)}</p>;
  return (
    <figure>
      <div className="flex gap-2">
        <div
          className="flex w-14 flex-col justify-between text-right text-xs text-muted tabular-nums"
          aria-hidden
        >
          <span>{show(max)}</span>
          <span>{show(max / 2)}</span>
          <span>0</span>
        </div>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-labelledby={id}
          className="h-48 w-full min-w-0 flex-1 overflow-visible border-b border-l border-line"
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
      <figcaption className="flex justify-between pt-1 pl-16 text-xs text-muted tabular-nums" aria-hidden>
        <span>0</span>
        <span>{formatDuration(to - from)}</span>
      </figcaption>
    </figure>
  );
}
