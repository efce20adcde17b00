import type { UsagePoint, UsageTotals } from "@outrider/contract/usage";
import type { RollupSum } from "../../store/usage/rollups.ts";
import { addBins, percentile } from "./histogram.ts";
import type { Period } from "./period.ts";

const names = [
  "succeeded",
  "failed",
  "cancelled",
  "unfinished",
  "cost_usd",
  "input_tokens",
  "cached_input_tokens",
  "output_tokens",
  "run_seconds",
] as const;

/** Adds up rows of rollups and computes what people see. */
export function totalsOf(rows: readonly RollupSum[]): UsageTotals {
  const sums = Object.fromEntries(names.map((name) => [name, 0])) as Record<(typeof names)[number], number>;
  let durations: number[] = [];
  let waits: number[] = [];
  for (const row of rows) {
    for (const name of names) sums[name] += row[name];
    durations = addBins(durations, row.durations ?? []);
    waits = addBins(waits, row.waits ?? []);
  }
  const { cost_usd, run_seconds, ...counts } = sums;
  const { succeeded, failed, cancelled, unfinished } = counts;
  return {
    runs: succeeded + failed + cancelled + unfinished,
    ...counts,
    cost_usd: round(cost_usd, 6),
    run_seconds: round(run_seconds, 3),
    ...present("duration_p50_seconds", percentile(durations, 0.5)),
    ...present("duration_p95_seconds", percentile(durations, 0.95)),
    ...present("wait_p50_seconds", percentile(waits, 0.5)),
    ...present("wait_p95_seconds", percentile(waits, 0.95)),
  };
}

/** Sums of floating-point numbers have a remainder, which nobody wants to see. */
export function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

function present<N extends string>(name: N, value: number | undefined) {
  return (value === undefined ? {} : { [name]: value }) as { [K in N]?: number };
}

/** Returns a point for each interval, also for those without any usage. */
export function pointsOf(period: Period, rows: readonly RollupSum[]): UsagePoint[] {
  const byStart = new Map(rows.map((row) => [row.starts_at, row]));
  return period.starts.map((starts_at) => {
    const row = byStart.get(starts_at);
    return { starts_at, ...totalsOf(row ? [row] : []) };
  });
}
