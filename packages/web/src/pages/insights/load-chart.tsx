import type { UsageLoadResponse } from "@outrider/sdk";
import { useCallback, useMemo, useState } from "react";
import type { Area } from "../../ui/charts/area.ts";
import { ChartCard } from "../../ui/charts/chart-card.tsx";
import { Lines } from "../../ui/charts/line-marks.tsx";
import { Plot } from "../../ui/charts/plot.tsx";
import { ticksTo } from "../../ui/charts/scale.ts";
import type { ChartSeries } from "../../ui/charts/series.ts";
import { formatCount } from "../../ui/format/numbers.ts";
import { loadPoint } from "./period.ts";
import { runsHref } from "./runs-link.ts";

const oneDigit = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const format = (value: number) => (value < 100 ? oneDigit.format(value) : formatCount(value));

/** Shows how busy the workers were, and how many runs waited for them. */
export function LoadChart({ load }: { load: UsageLoadResponse | undefined }) {
  const [active, setActive] = useState<number>();
  const points = useMemo(
    () => load?.points.map(({ starts_at }) => loadPoint(starts_at, load.interval_seconds)),
    [load],
  );
  const series = useMemo((): ChartSeries[] => {
    const all = load?.points ?? [];
    return [
      { label: "Working", color: "var(--chart-1)", values: all.map(({ running }) => running) },
      { label: "Queued", color: "var(--chart-4)", values: all.map(({ queued }) => queued) },
      { label: "Slots", color: "var(--line-strong)", isDashed: true, values: all.map(({ slots }) => slots) },
    ];
  }, [load]);
  const draw = useCallback((area: Area) => <Lines area={area} series={series} isFilled />, [series]);
  const highest = Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)));
  return (
    <ChartCard
      title="Worker load"
      hint="Average number of runs that work and wait"
      points={points}
      series={series}
      format={format}
      empty="No measurements in this period"
    >
      {() => (
        <Plot
          label="Worker load. Average number of runs that work and wait, and of slots."
          points={points ?? []}
          series={series}
          ticks={ticksTo(highest)}
          format={format}
          active={active}
          onActive={setActive}
          linkOf={(index) => {
            const from = load?.points[index]?.starts_at;
            const to =
              from && new Date(Date.parse(from) + (load?.interval_seconds ?? 0) * 1_000).toISOString();
            return runsHref({ from, to });
          }}
          notesAt={(index) => {
            const { queued_max = 0, running_max = 0 } = load?.points[index] ?? {};
            return [`At most ${formatCount(running_max)} working, ${formatCount(queued_max)} queued`];
          }}
        >
          {draw}
        </Plot>
      )}
    </ChartCard>
  );
}
