import type { UsagePoint, UsageResponse } from "@outrider/sdk";
import { type ReactNode, useCallback, useMemo, useState } from "react";
import type { Area } from "../../ui/charts/area.ts";
import { Bars } from "../../ui/charts/bars.tsx";
import { ChartCard } from "../../ui/charts/chart-card.tsx";
import { Lines } from "../../ui/charts/line-marks.tsx";
import { Plot } from "../../ui/charts/plot.tsx";
import { durationTicksTo, shareTicks, ticksTo } from "../../ui/charts/scale.ts";
import type { ChartPoint, ChartSeries, FormatValue } from "../../ui/charts/series.ts";
import { SegmentedControl } from "../../ui/form/segmented-control.tsx";
import { formatCount } from "../../ui/format/numbers.ts";
import { formatCost, formatPercent, formatSeconds, successRate, tokensOf } from "./measures.ts";
import { chartPoint } from "./period.ts";
import { type RunsFilter, runsHref } from "./runs-link.ts";

interface TimeChartsProps {
  usage: UsageResponse | undefined;
  /** Whether the period before is shown too. The legends have it from the beginning, so that nothing moves. */
  isCompared: boolean;
  environment: string | undefined;
}

/** Shows the charts over time. They share the selected point, so that the eye can follow one day through all of them. */
export function TimeCharts({ usage, isCompared, environment }: TimeChartsProps) {
  const [active, setActive] = useState<number>();
  const shared = { usage, isCompared, environment, active, onActive: setActive };
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      <OutcomeChart {...shared} />
      <SuccessChart {...shared} />
      <SpendChart {...shared} />
      <DurationChart {...shared} />
      <WaitChart {...shared} />
    </div>
  );
}

interface SharedProps extends TimeChartsProps {
  active: number | undefined;
  onActive: (index: number | undefined) => void;
}

const of = (usage: UsageResponse | undefined, value: (point: UsagePoint) => number | undefined) =>
  usage?.points.map(value) ?? [];

/** The same measure in the period before, as a dashed line. */
function before(
  { usage, isCompared }: Pick<TimeChartsProps, "usage" | "isCompared">,
  value: (point: UsagePoint) => number | undefined,
): ChartSeries[] {
  if (usage ? !usage.previous_points : !isCompared) return [];
  return [
    {
      label: "Period before",
      color: "var(--line-strong)",
      isDashed: true,
      values: usage?.previous_points?.map(value) ?? [],
    },
  ];
}

interface TimeChartProps extends SharedProps {
  title: string;
  hint: string;
  kind: "bars" | "lines";
  series: ChartSeries[];
  format: FormatValue;
  /** What the values are, which determines the axis. Default: counts. */
  unit?: "duration" | "share";
  empty?: string;
  /** The state of the runs that a click shows. */
  state?: string;
  controls?: ReactNode;
  className?: string;
}

function TimeChart(props: TimeChartProps) {
  const { usage, environment, active, onActive, title, hint, kind, series, format, state, controls } = props;
  const points = useMemo(
    (): ChartPoint[] | undefined =>
      usage?.points.map(({ starts_at }) => chartPoint(starts_at, usage.interval)),
    [usage],
  );
  const solid = series.filter(({ isDashed }) => !isDashed);
  const dashed = series.filter(({ isDashed }) => isDashed);
  const highest = Math.max(
    0,
    ...(points ?? []).map((_, index) =>
      kind === "bars"
        ? solid.reduce((sum, { values }) => sum + (values[index] ?? 0), 0)
        : Math.max(0, ...solid.map(({ values }) => values[index] ?? 0)),
    ),
    ...dashed.flatMap(({ values }) => values.map((value) => value ?? 0)),
  );
  const known = series.flatMap(({ values }) => values.filter((value) => value !== undefined));
  const ticks =
    props.unit === "share"
      ? shareTicks(Math.min(1, ...known))
      : props.unit === "duration"
        ? durationTicksTo(highest)
        : ticksTo(highest);
  // The series are new objects on every render, so the drawing depends on what they are made from.
  // biome-ignore lint/correctness/useExhaustiveDependencies: as above.
  const draw = useCallback(
    (area: Area) => (
      <>
        {kind === "bars" ? (
          <Bars area={area} series={solid} />
        ) : (
          <Lines area={area} series={solid} isFilled={solid.length === 1} />
        )}
        <Lines area={area} series={dashed} />
      </>
    ),
    [usage, title, kind],
  );
  const linkOf = (index: number) => {
    const filter: RunsFilter = {
      from: usage?.points[index]?.starts_at,
      to: usage?.points[index + 1]?.starts_at ?? usage?.to,
      ...{ state, environment },
    };
    return runsHref(filter);
  };
  const notesAt = (index: number) => {
    const sum = solid.reduce((total, { values }) => total + (values[index] ?? 0), 0);
    return kind === "bars" && solid.length > 1 ? [`${format(sum)} in total`] : [];
  };
  return (
    <ChartCard
      title={title}
      hint={hint}
      points={points}
      series={series}
      format={format}
      empty={props.empty ?? "No runs in this period"}
      {...(controls && { controls })}
      {...(props.className && { className: props.className })}
    >
      {() => (
        <Plot
          label={`${title}. ${hint}.`}
          points={points ?? []}
          series={series}
          ticks={ticks}
          format={format}
          active={active}
          onActive={onActive}
          linkOf={linkOf}
          notesAt={notesAt}
        >
          {draw}
        </Plot>
      )}
    </ChartCard>
  );
}

function OutcomeChart(props: SharedProps) {
  const { usage } = props;
  return (
    <TimeChart
      {...props}
      className="lg:col-span-2"
      title="Runs by outcome"
      hint="By creation time"
      kind="bars"
      format={formatCount}
      series={[
        { label: "Succeeded", color: "var(--chart-good)", values: of(usage, ({ succeeded }) => succeeded) },
        { label: "Failed", color: "var(--chart-bad)", values: of(usage, ({ failed }) => failed) },
        {
          label: "Cancelled",
          color: "var(--chart-neutral)",
          values: of(usage, ({ cancelled }) => cancelled),
        },
        { label: "Not ended", color: "var(--chart-live)", values: of(usage, ({ unfinished }) => unfinished) },
        ...before(props, ({ runs }) => runs),
      ]}
    />
  );
}

function SuccessChart(props: SharedProps) {
  return (
    <TimeChart
      {...props}
      title="Success rate"
      hint="Of runs that ended, without cancelled ones"
      kind="lines"
      unit="share"
      format={formatPercent}
      state="FAILED"
      series={[
        { label: "Success rate", color: "var(--chart-good)", values: of(props.usage, successRate) },
        ...before(props, successRate),
      ]}
    />
  );
}

function SpendChart(props: SharedProps) {
  const [unit, setUnit] = useState<"cost" | "tokens">("cost");
  const { usage } = props;
  const controls = (
    <SegmentedControl
      label="Unit"
      value={unit}
      options={[
        { value: "cost", label: "Cost" },
        { value: "tokens", label: "Tokens" },
      ]}
      onChange={setUnit}
    />
  );
  return unit === "cost" ? (
    <TimeChart
      {...props}
      title="Cost"
      hint="When it was incurred"
      kind="bars"
      controls={controls}
      format={formatCost}
      empty="No cost in this period"
      series={[
        { label: "Cost", color: "var(--chart-1)", values: of(usage, ({ cost_usd }) => cost_usd) },
        ...before(props, ({ cost_usd }) => cost_usd),
      ]}
    />
  ) : (
    <TimeChart
      {...props}
      title="Tokens"
      hint="When they were used"
      kind="bars"
      controls={controls}
      format={formatCount}
      empty="No tokens in this period"
      series={[
        {
          label: "Input",
          color: "var(--chart-1)",
          values: of(usage, ({ input_tokens, cached_input_tokens }) => input_tokens - cached_input_tokens),
        },
        {
          label: "Cached input",
          color: "var(--chart-2)",
          values: of(usage, (point) => point.cached_input_tokens),
        },
        { label: "Output", color: "var(--chart-3)", values: of(usage, ({ output_tokens }) => output_tokens) },
        ...before(props, tokensOf),
      ]}
    />
  );
}

function DurationChart(props: SharedProps) {
  const { usage } = props;
  return (
    <TimeChart
      {...props}
      title="Duration"
      hint="Working time of runs that ended"
      kind="lines"
      unit="duration"
      format={formatSeconds}
      series={[
        {
          label: "Median",
          color: "var(--chart-1)",
          values: of(usage, (point) => point.duration_p50_seconds),
        },
        { label: "p95", color: "var(--chart-4)", values: of(usage, (point) => point.duration_p95_seconds) },
        ...before(props, (point) => point.duration_p50_seconds).map((one) => ({
          ...one,
          label: "Median before",
        })),
      ]}
    />
  );
}

function WaitChart(props: SharedProps) {
  const { usage } = props;
  return (
    <TimeChart
      {...props}
      title="Time in queue"
      hint="Until a worker started the turn"
      kind="lines"
      unit="duration"
      format={formatSeconds}
      empty="No run waited in this period"
      series={[
        { label: "Median", color: "var(--chart-1)", values: of(usage, (point) => point.wait_p50_seconds) },
        { label: "p95", color: "var(--chart-4)", values: of(usage, (point) => point.wait_p95_seconds) },
        ...before(props, (point) => point.wait_p50_seconds).map((one) => ({
          ...one,
          label: "Median before",
        })),
      ]}
    />
  );
}
