/** What one side did in one round. */
export interface Sample {
  perSecond: number;
  /** Milliseconds, for the side that answers callers. */
  latency?: { p50: number; p99: number };
}

export interface Contest {
  name: string;
  /** The least that the subject must reach, as a part of its anchor. */
  limit: number;
  subject(): Promise<Sample>;
  anchor(): Promise<Sample>;
}

export interface Verdict {
  name: string;
  limit: number;
  ratio: number;
  /** The lowest and the highest ratio of a round: how quiet the machine was. */
  spread: [number, number];
  subject: number;
  anchor: number;
  latency?: { p50: number; p99: number };
  /** What both figures are counted in; a rate where nothing is said. */
  unit?: "MiB" | "ms";
}

const ROUNDS = 5;

/**
 * Subject and anchor take turns, and who begins changes with each round. What the machine does besides then
 * meets both alike, and the median of the ratios stays put where the rates themselves do not.
 */
export async function compare({ name, limit, subject, anchor }: Contest): Promise<Verdict> {
  const rounds: { subject: Sample; anchor: Sample }[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const samples: Partial<Record<"subject" | "anchor", Sample>> = {};
    const sides = { subject, anchor };
    const order = round % 2 === 1 ? (["subject", "anchor"] as const) : (["anchor", "subject"] as const);
    for (const side of order) samples[side] = await sides[side]();
    const both = samples as Required<typeof samples>;
    rounds.push(both);
    const ratio = both.subject.perSecond / both.anchor.perSecond;
    const rates = `${perSecond(both.subject.perSecond)} against ${perSecond(both.anchor.perSecond)}`;
    console.log(`  ${name}, round ${round}: ${rates}, ratio ${ratio.toFixed(3)}`);
  }
  const ratios = rounds.map((round) => round.subject.perSecond / round.anchor.perSecond);
  const latencies = rounds.flatMap((round) => round.subject.latency ?? []);
  return {
    name,
    limit,
    ratio: median(ratios),
    spread: [Math.min(...ratios), Math.max(...ratios)],
    subject: median(rounds.map((round) => round.subject.perSecond)),
    anchor: median(rounds.map((round) => round.anchor.perSecond)),
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

/** A bound that is no ratio: the figure is held against what it may be, and the rounds are its measurements. */
export function hold({
  name,
  measured,
  most,
  unit,
}: {
  name: string;
  measured: number[];
  most: number;
  unit: "MiB" | "ms";
}): Verdict {
  const ratios = measured.map((value) => most / value);
  const subject = median(measured);
  return {
    ...{ name, limit: 1, ratio: most / subject, spread: [Math.min(...ratios), Math.max(...ratios)] },
    ...{ subject, anchor: most, unit },
  };
}

export function keeps({ ratio, limit }: Verdict): boolean {
  return ratio >= limit;
}

export function printVerdicts(verdicts: Verdict[]) {
  const rows = verdicts.map((verdict) => [
    verdict.name,
    figure(verdict.subject, verdict.unit),
    verdict.unit ? `at most ${figure(verdict.anchor, verdict.unit)}` : perSecond(verdict.anchor),
    verdict.ratio.toFixed(3),
    verdict.spread.map((ratio) => ratio.toFixed(3)).join(" to "),
    `≥ ${Math.round(verdict.limit * 1_000) / 1_000}`,
    verdict.latency ? `${verdict.latency.p50.toFixed(1)} ms` : "",
    verdict.latency ? `${verdict.latency.p99.toFixed(1)} ms` : "",
    keeps(verdict) ? "kept" : "MISSED",
  ]);
  const head = ["", "Outrider", "anchor", "ratio", "of the rounds", "promised", "p50", "p99", ""];
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

function figure(value: number, unit?: "MiB" | "ms"): string {
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

/** The rate of something that takes so long: half the rate is twice the time. */
export function rateOf(times: number[], part: number): Sample {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (quantile: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(quantile * sorted.length))] as number;
  return { perSecond: 1_000 / at(part), latency: { p50: at(0.5), p99: at(0.99) } };
}

/**
 * Both sides of a contest by short turns within each round, so that a busy moment of the machine meets both; each answers
 * how long its steps took. Whoever is asked first plays the round, and the other one's figures are there already.
 */
export function inTurns({
  turns,
  part,
  ...sides
}: {
  turns: number;
  /** Which of all the times, in their order, stands for the round. */
  part: number;
  subject(): Promise<number[]>;
  anchor(): Promise<number[]>;
}): Pick<Contest, "subject" | "anchor"> {
  let played: { subject: number[]; anchor: number[] } | undefined;
  const sample = async (side: "subject" | "anchor"): Promise<Sample> => {
    const times = played ?? { subject: [], anchor: [] };
    for (let turn = played ? turns : 0; turn < turns; turn += 1) {
      times.subject.push(...(await sides.subject()));
      times.anchor.push(...(await sides.anchor()));
    }
    played = played ? undefined : times;
    return { perSecond: rateOf(times[side], part).perSecond };
  };
  return { subject: () => sample("subject"), anchor: () => sample("anchor") };
}
