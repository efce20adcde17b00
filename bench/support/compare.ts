/** The measurement of one side in one round. */
export interface Sample {
  perSecond: number;
  /** In milliseconds. */
  latency?: { p50: number; p99: number };
}

export interface Comparison {
  name: string;
  /** The required ratio of the subject's rate to the baseline's. */
  limit: number;
  subject(): Promise<Sample>;
  baseline(): Promise<Sample>;
}

type Unit = "MiB" | "ms" | "/s" | "connections" | "active";

export interface BenchResult {
  name: string;
  limit: number;
  ratio: number;
  /** The lowest and highest ratio of a round, which show how quiet the machine was. */
  range: [number, number];
  subject: number;
  baseline: number;
  latency?: { p50: number; p99: number };
  /** The unit of `subject` and `baseline`; a rate if absent. */
  unit?: Unit;
}

const ROUNDS = 5;

/**
 * Measures subject and baseline alternately in several rounds and returns the median of the ratios. Other load on the
 * machine affects both sides alike, so the ratio is stable even if the rates are not. The side that starts alternates.
 */
export async function compare({ name, limit, subject, baseline }: Comparison): Promise<BenchResult> {
  const rounds: { subject: Sample; baseline: Sample }[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const samples: Partial<Record<"subject" | "baseline", Sample>> = {};
    const sides = { subject, baseline };
    const order = round % 2 === 1 ? (["subject", "baseline"] as const) : (["baseline", "subject"] as const);
    for (const side of order) samples[side] = await sides[side]();
    const both = samples as Required<typeof samples>;
    rounds.push(both);
    const ratio = both.subject.perSecond / both.baseline.perSecond;
    const rates = `${perSecond(both.subject.perSecond)} vs. ${perSecond(both.baseline.perSecond)}`;
    console.log(`  ${name}, round ${round}: ${rates}, ratio ${ratio.toFixed(3)}`);
  }
  const ratios = rounds.map((round) => round.subject.perSecond / round.baseline.perSecond);
  const latencies = rounds.flatMap((round) => round.subject.latency ?? []);
  return {
    name,
    limit,
    ratio: median(ratios),
    range: [Math.min(...ratios), Math.max(...ratios)],
    subject: median(rounds.map((round) => round.subject.perSecond)),
    baseline: median(rounds.map((round) => round.baseline.perSecond)),
    ...(latencies.length > 0
      ? {
          latency: {
            p50: median(latencies.map(({ p50 }) => p50)),
            p99: median(latencies.map(({ p99 }) => p99)),
          },
        }
      : {}),
  };
}

/** Checks measurements against an absolute limit. */
export function checkLimit({
  name,
  measured,
  max,
  unit,
}: {
  name: string;
  measured: number[];
  max: number;
  unit: Unit;
}): BenchResult {
  const ratios = measured.map((value) => max / value);
  const subject = median(measured);
  return {
    ...{ name, limit: 1, ratio: max / subject, range: [Math.min(...ratios), Math.max(...ratios)] },
    ...{ subject, baseline: max, unit },
  };
}

export function passes({ ratio, limit }: BenchResult): boolean {
  return ratio >= limit;
}

export function printResults(results: BenchResult[]) {
  const rows = results.map((result) => [
    result.name,
    formatValue(result.subject, result.unit),
    result.unit ? `at most ${formatValue(result.baseline, result.unit)}` : perSecond(result.baseline),
    result.ratio.toFixed(3),
    result.range.map((ratio) => ratio.toFixed(3)).join(" to "),
    `≥ ${Math.round(result.limit * 1_000) / 1_000}`,
    result.latency ? `${result.latency.p50.toFixed(1)} ms` : "",
    result.latency ? `${result.latency.p99.toFixed(1)} ms` : "",
    passes(result) ? "pass" : "FAIL",
  ]);
  const head = ["", "Outrider", "baseline", "ratio", "range", "required", "p50", "p99", ""];
  const table = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...table.map((row) => (row[column] as string).length)));
  for (const row of table)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] as number))
        .join("  ")
        .trimEnd(),
    );
}

function formatValue(value: number, unit?: Unit): string {
  return unit ? `${value.toFixed(2)} ${unit}` : perSecond(value);
}

function perSecond(rate: number): string {
  return `${Math.round(rate)}/s`;
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] as number;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] as number)) / 2;
}

/** Converts a quantile of durations in milliseconds to a rate: twice the time is half the rate. */
export function rateOf(times: number[], quantile: number): Sample {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (fraction: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(fraction * sorted.length))] as number;
  return { perSecond: 1_000 / at(quantile), latency: { p50: at(0.5), p99: at(0.99) } };
}

/**
 * Interleaves both sides in short turns within each round, so that a busy moment of the machine affects both. Each side
 * returns the durations of its steps. The side that is sampled first runs the whole round for both.
 */
export function interleave({
  turns,
  quantile,
  ...sides
}: {
  turns: number;
  /** The quantile of all durations that represents the round. */
  quantile: number;
  subject(): Promise<number[]>;
  baseline(): Promise<number[]>;
}): Pick<Comparison, "subject" | "baseline"> {
  let measured: { subject: number[]; baseline: number[] } | undefined;
  const sample = async (side: "subject" | "baseline"): Promise<Sample> => {
    const times = measured ?? { subject: [], baseline: [] };
    for (let turn = measured ? turns : 0; turn < turns; turn += 1) {
      times.subject.push(...(await sides.subject()));
      times.baseline.push(...(await sides.baseline()));
    }
    measured = measured ? undefined : times;
    return { perSecond: rateOf(times[side], quantile).perSecond };
  };
  return { subject: () => sample("subject"), baseline: () => sample("baseline") };
}
