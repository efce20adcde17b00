import type { Area } from "./area.ts";
import type { ChartSeries } from "./series.ts";

/** Draws stacked bars. */
export function Bars({ area, series }: { area: Area; series: readonly ChartSeries[] }) {
  const width = Math.max(1, Math.min(40, area.step * 0.72));
  const count = series[0]?.values.length ?? 0;
  return Array.from({ length: count }, (_, index) => {
    let below = 0;
    return series.map(({ label, color, values }) => {
      const value = values[index] ?? 0;
      if (value <= 0) return null;
      const y = area.y(below + value);
      // Small values stay visible.
      const height = Math.max(1, area.y(below) - y);
      below += value;
      return (
        <rect
          // biome-ignore lint/suspicious/noArrayIndexKey: the bars of a chart stay where they are.
          key={`${label} ${index}`}
          x={area.x(index) - width / 2}
          y={y}
          width={width}
          height={height}
          rx={width > 6 ? 1.5 : 0}
          style={{ fill: color }}
        />
      );
    });
  });
}
