import type { Timing } from "./client.ts";
import type { Reading } from "./gauges.ts";

/** A period of time in milliseconds. */
export interface Span {
  from: number;
  to: number;
}

export interface Comparison {
  name: string;
  before: number;
  after: number;
  limit: number;
  isWithinLimit: boolean;
}

/**
 * How much a value may grow: `before * factor + margin`. The limits are generous because the machine may be busy and because
 * caches and heaps still fill during a round of one minute. A leak per run, request or lost connection exceeds them in a
 * longer round.
 */
const growthLimits: { pattern: RegExp; factor: number; margin: number }[] = [
  { pattern: /^heap of /, factor: 1.3, margin: 30 },
  // Includes memory that the garbage collector has not returned yet.
  { pattern: /^memory of /, factor: 1.5, margin: 80 },
  { pattern: /^file descriptors of /, factor: 1.3, margin: 15 },
  { pattern: /^connections /, factor: 1.2, margin: 4 },
  { pattern: /^p99 of /, factor: 2.5, margin: 400 },
];

/** Compares each gauge and each latency before the faults and after them. */
export function compare(
  { readings, timings }: { readings: Reading[]; timings: Timing[] },
  { before, after }: { before: Span; after: Span },
): Comparison[] {
  const gauges = [...Map.groupBy(readings, ({ gauge }) => gauge)].map(([gauge, values]) => {
    // Between two collections a heap contains garbage, so its low points show what is retained.
    const share = gauge.startsWith("heap of ") ? 0.1 : 0.5;
    return compareValues(gauge, (span) => quantile(valuesIn(values, span), share));
  });
  const latencies = [...Map.groupBy(timings, ({ name }) => kindOf(name))].map(([kind, calls]) => {
    const answers = calls.map(({ at, ms }) => ({ at, value: ms }));
    return compareValues(`p99 of ${kind}, ms`, (span) => quantile(valuesIn(answers, span), 0.99));
  });
  return [...gauges, ...latencies];

  function compareValues(name: string, measure: (span: Span) => number): Comparison {
    const { factor, margin } = growthLimits.find(({ pattern }) =>
      pattern.test(name),
    ) as (typeof growthLimits)[number];
    const [first, last] = [measure(before), measure(after)];
    const limit = first * factor + margin;
    // A value that was not measured is NaN, which is never within the limit.
    return { name, before: first, after: last, limit, isWithinLimit: last <= limit };
  }
}

/** Returns one sentence for each value that exceeds its limit. */
export function findGrowth(comparisons: Comparison[]): string[] {
  return comparisons
    .filter(({ isWithinLimit }) => !isWithinLimit)
    .map(
      ({ name, before, after, limit }) =>
        `${name} grew from ${before.toFixed(1)} to ${after.toFixed(1)}; the limit is ${limit.toFixed(1)}.`,
    );
}

/** Formats the comparisons as aligned columns. */
export function formatTable(comparisons: Comparison[]): string {
  const lines = comparisons.map(({ name, before, after, limit, isWithinLimit }) => [
    name,
    ...[before, after, limit].map((value) => value.toFixed(1)),
    isWithinLimit ? "ok" : "TOO HIGH",
  ]);
  const all = [["", "before", "after", "limit", ""], ...lines];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((line) => (line[column] ?? "").length)));
  return all
    .map(([name = "", ...rest]) => {
      const numbers = rest.slice(0, 3).map((text, index) => text.padStart(widths[index + 1] ?? 0));
      return [name.padEnd(widths[0] ?? 0), ...numbers, rest[3]].join("  ").trimEnd();
    })
    .join("\n");
}

/** A minute has too few requests of some kinds for a p99, so all reads and all writes are counted together. */
function kindOf(name: string): string {
  return name === "get" || name === "list" ? "reads" : "writes";
}

function valuesIn(all: { at: number; value: number }[], { from, to }: Span): number[] {
  return all.filter(({ at }) => at >= from && at < to).map(({ value }) => value);
}

function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
