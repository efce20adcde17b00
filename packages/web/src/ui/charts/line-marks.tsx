import type { Area } from "./area.ts";
import type { ChartSeries } from "./series.ts";

interface LinesProps {
  area: Area;
  series: readonly ChartSeries[];
  /** Fills the area below the first line. */
  isFilled?: boolean;
}

/** Draws a line per series. Points without a value leave a gap, and points between two gaps become dots. */
export function Lines({ area, series, isFilled = false }: LinesProps) {
  return series.map(({ label, color, values, isDashed }, index) => {
    const parts = partsOf(values);
    const lines = parts.map((part) =>
      part.map(([at, value]) => `${area.x(at).toFixed(1)},${area.y(value).toFixed(1)}`),
    );
    return (
      <g key={label} style={{ stroke: color, fill: color }}>
        {isFilled &&
          index === 0 &&
          lines.map((line, part) => {
            const [first, last] = [parts[part]?.[0]?.[0] ?? 0, parts[part]?.at(-1)?.[0] ?? 0];
            return (
              <path
                key={line[0]}
                stroke="none"
                fillOpacity={0.12}
                d={`M${area.x(first).toFixed(1)},${area.height} L${line.join(" L")} L${area.x(last).toFixed(1)},${area.height} Z`}
              />
            );
          })}
        {lines.map((line) => (
          <path
            key={line[0]}
            fill="none"
            strokeWidth={isDashed ? 1.25 : 1.75}
            strokeLinejoin="round"
            strokeLinecap="round"
            {...(isDashed && { strokeDasharray: "3 4" })}
            // A line of one point has no length, but its round ends make it a dot.
            d={line.length === 1 ? `M${line[0]} h0.01` : `M${line.join(" L")}`}
          />
        ))}
      </g>
    );
  });
}

function partsOf(values: readonly (number | undefined)[]): [number, number][][] {
  const parts: [number, number][][] = [];
  let isOpen = false;
  values.forEach((value, index) => {
    if (value === undefined) {
      isOpen = false;
      return;
    }
    if (!isOpen) parts.push([]);
    isOpen = true;
    parts.at(-1)?.push([index, value]);
  });
  return parts;
}
