/** Converts the metrics of a Prometheus registry, so that OTLP exports the same values under the same names. */
import { type HrTime, ValueType } from "@opentelemetry/api";
import { AggregationTemporality, DataPointType, type MetricData } from "@opentelemetry/sdk-metrics";
import type { SourceMetric } from "../telemetry.ts";

type Labels = SourceMetric["values"][number]["labels"];

interface Times {
  /** When the counters started at 0. */
  startedAt: Date;
  now: Date;
}

export function convertMetrics(metrics: SourceMetric[], { startedAt, now }: Times): MetricData[] {
  const times = { startTime: toHrTime(startedAt), endTime: toHrTime(now) };
  return metrics.flatMap((metric): MetricData[] => {
    const { name, help, type, values } = metric;
    if (values.length === 0) return [];
    const common = {
      descriptor: { name, description: help, unit: unitOf(name), valueType: ValueType.DOUBLE },
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
    };
    const points = () =>
      values.map(({ labels, value }) => ({ ...times, attributes: toAttributes(labels), value }));
    if (type === "counter")
      return [{ ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints: points() }];
    if (type === "gauge") return [{ ...common, dataPointType: DataPointType.GAUGE, dataPoints: points() }];
    if (type !== "histogram") return [];
    const dataPoints = histogramsOf(metric).map((histogram) => ({ ...times, ...histogram }));
    return [{ ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints }];
  });
}

/** Prometheus has one value for each bucket, which counts the smaller buckets as well, and one each for sum and count. */
function histogramsOf({ name, values }: SourceMetric) {
  const series = new Map<
    string,
    { labels: Labels; buckets: [bound: number, count: number][]; sum: number; count: number }
  >();
  for (const { labels, value, metricName } of values) {
    const { le, ...rest } = labels;
    const key = JSON.stringify(Object.entries(rest).sort());
    const found = series.get(key) ?? { labels: rest, buckets: [], sum: 0, count: 0 };
    series.set(key, found);
    if (metricName === `${name}_sum`) found.sum = value;
    else if (metricName === `${name}_count`) found.count = value;
    else if (le !== undefined && le !== "+Inf") found.buckets.push([Number(le), value]);
  }
  return [...series.values()].map(({ labels, buckets, sum, count }) => {
    const sorted = buckets.sort(([first], [second]) => first - second);
    const cumulative = [...sorted.map(([, smaller]) => smaller), count];
    return {
      attributes: toAttributes(labels),
      value: {
        buckets: {
          boundaries: sorted.map(([bound]) => bound),
          counts: cumulative.map((value, index) => Math.max(0, value - (cumulative[index - 1] ?? 0))),
        },
        sum,
        count,
      },
    };
  });
}

function toAttributes(labels: Labels): Record<string, string> {
  const present = Object.entries(labels).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present.map(([name, value]) => [name, String(value)]));
}

function unitOf(name: string): string {
  if (/_seconds(_total)?$/.test(name)) return "s";
  return /_bytes(_total)?$/.test(name) ? "By" : "1";
}

function toHrTime(date: Date): HrTime {
  const ms = date.getTime();
  return [Math.floor(ms / 1_000), (ms % 1_000) * 1_000_000];
}
