import { type ReactNode, useMemo } from "react";
import type { Area } from "./area.ts";
import { PointLink, type PointLinkProps } from "./point-link.tsx";
import { labelIndexes } from "./scale.ts";
import type { ChartPoint, ChartSeries, FormatValue } from "./series.ts";
import { useWidth } from "./use-width.ts";

export interface PlotProps extends Pick<PointLinkProps, "active" | "onActive" | "linkOf"> {
  /** Describes the chart for screen readers. */
  label: string;
  points: readonly ChartPoint[];
  series: readonly ChartSeries[];
  ticks: readonly number[];
  format: FormatValue;
  /** Lines of the tooltip below the series, such as a sum. */
  notesAt?: (index: number) => string[];
}

const HEIGHT = 208;
const TOP = 8;
const BOTTOM = 22;
const LABEL_PX = 64;

/** Draws the axes of a chart, and a link at the point that the user hovers over or selects with the arrow keys. */
export function Plot({ children, ...props }: PlotProps & { children: (area: Area) => ReactNode }) {
  const { label, points, series, ticks, format } = props;
  const [element, outer] = useWidth<HTMLDivElement>();
  const left = Math.max(...ticks.map((tick) => format(tick).length)) * 6.5 + 10;
  const width = Math.max(0, outer - left - 4);
  const bottom = ticks[0] ?? 0;
  const top = ticks.at(-1) ?? 1;
  const area = useMemo((): Area => {
    const height = HEIGHT - TOP - BOTTOM;
    const step = points.length > 0 ? width / points.length : width;
    return {
      width,
      height,
      step,
      x: (index) => (index + 0.5) * step,
      y: (value) => height - (height * (value - bottom)) / (top - bottom),
    };
  }, [width, bottom, top, points.length]);
  // Only the overlay changes while the pointer moves.
  const marks = useMemo(() => (width > 0 ? children(area) : null), [children, area, width]);
  const labels = labelIndexes(points.length, Math.floor(width / LABEL_PX));
  return (
    <div ref={element} className="relative h-52 select-none">
      {width > 0 && (
        <svg
          role="img"
          aria-label={label}
          width={outer}
          height={HEIGHT}
          className="block overflow-visible text-[11px]"
        >
          <g transform={`translate(${left} ${TOP})`} aria-hidden>
            {ticks.map((tick) => (
              <g key={tick} transform={`translate(0 ${area.y(tick)})`}>
                <line x2={width} className={tick === bottom ? "stroke-line-strong/60" : "stroke-line"} />
                <text x={-8} dy="0.32em" textAnchor="end" className="fill-muted tabular-nums">
                  {format(tick)}
                </text>
              </g>
            ))}
            {labels.map((index) => (
              <text
                key={index}
                x={Math.min(area.x(index), width - 12)}
                y={area.height + 16}
                textAnchor="middle"
                className="fill-muted tabular-nums"
              >
                {points[index]?.label}
              </text>
            ))}
            {marks}
          </g>
        </svg>
      )}
      {width > 0 && <PointLink {...props} series={series} area={area} offset={{ left, top: TOP }} />}
    </div>
  );
}
