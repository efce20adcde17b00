import type { Timing } from "./client.ts";
import type { Reading } from "./gauges.ts";

/** A stretch of calm: one before what breaks and one after it. */
export interface Span {
  from: number;
  to: number;
}

export interface Row {
  what: string;
  before: number;
  after: number;
  most: number;
  isLevel: boolean;
}

/**
 * How much more there may be at the end than at the beginning. Generous, for a machine with other work and for a round
 * of a minute, in which caches and heaps still fill; what leaks with each run, request or lost connection goes past
 * them in a longer one.
 */
const bounds: { of: RegExp; times: number; plus: number }[] = [
  { of: /^heap of /, times: 1.3, plus: 30 },
  // With what the collector has not given back yet.
  { of: /^memory of /, times: 1.5, plus: 80 },
  { of: /^file descriptors of /, times: 1.3, plus: 15 },
  { of: /^connections /, times: 1.2, plus: 4 },
  { of: /^p99 of /, times: 2.5, plus: 400 },
];

/** What it is at the beginning and at the end, and whether that is level. */
export function compare(
  { readings, timings }: { readings: Reading[]; timings: Timing[] },
  { before, after }: { before: Span; after: Span },
): Row[] {
  const gauges = [...Map.groupBy(readings, ({ what }) => what)].map(([what, own]) => {
    // Between two collections a heap holds what nobody needs any more; its low points say what is kept.
    const share = what.startsWith("heap of ") ? 0.1 : 0.5;
    return row(what, (span) => quantile(valuesIn(own, span), share));
  });
  const calls = [...Map.groupBy(timings, ({ name }) => kindOf(name))].map(([kind, own]) => {
    const answers = own.map(({ at, ms }) => ({ at, value: ms }));
    return row(`p99 of ${kind}, ms`, (span) => quantile(valuesIn(answers, span), 0.99));
  });
  return [...gauges, ...calls];

  function row(what: string, measure: (span: Span) => number): Row {
    const { times, plus } = bounds.find(({ of }) => of.test(what)) as (typeof bounds)[number];
    const [first, last] = [measure(before), measure(after)];
    const most = first * times + plus;
    // What was not measured is not level: NaN passes no comparison.
    return { what, before: first, after: last, most, isLevel: last <= most };
  }
}

export function unevenIn(rows: Row[]): string[] {
  return rows
    .filter(({ isLevel }) => !isLevel)
    .map(
      ({ what, before, after, most }) =>
        `${what}: ${before.toFixed(1)} at first and ${after.toFixed(1)} at the end, where ${most.toFixed(1)} may be.`,
    );
}

export function table(rows: Row[]): string {
  const lines = rows.map(({ what, before, after, most, isLevel }) => [
    what,
    ...[before, after, most].map((value) => value.toFixed(1)),
    isLevel ? "level" : "NOT LEVEL",
  ]);
  const all = [["", "before", "after", "at most", ""], ...lines];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((line) => (line[column] ?? "").length)));
  return all
    .map(([what = "", ...rest]) => {
      const numbers = rest.slice(0, 3).map((text, index) => text.padStart(widths[index + 1] ?? 0));
      return [what.padEnd(widths[0] ?? 0), ...numbers, rest[3]].join("  ").trimEnd();
    })
    .join("\n");
}

/** Too few cancels come in a minute to speak of the slowest of a hundred, so calls are counted by what they do. */
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
