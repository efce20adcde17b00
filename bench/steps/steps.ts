import { type Child, startChild } from "../support/child-process.ts";
import { type BenchResult, checkLimit, compare, interleave, median, rateOf } from "../support/compare.ts";
import type { StepRequest, StepResult } from "./step-runner.ts";

const SHORT = 50;
const TURNS = 6;
const LONG_TURNS = 2;
/** Uses a low quantile, because slow steps are mostly those that other processes interrupted. */
const QUANTILE = 0.1;
const LONG = 500;
const WINDOW = 50;
const ROUNDS = 5;
/** A step may take this many times as long as its bare request. */
const MAX_FACTOR = 3;
/** The allowed slowdown of the last steps, relative to that of the bare requests. */
const MAX_SLOWDOWN = 1.5;
/** The memory that 450 more steps may take; their transcript takes about 0.2 MiB. */
const MEMORY_MIB = 4;

type Side = "subject" | "baseline";

interface Sides {
  model: string;
  subject: Child;
  baseline: Child;
}

/** Compares a step of the agent loop to its bare HTTP request to the same model, and the last of 500 steps to the first. */
export async function benchSteps(only?: string): Promise<BenchResult[]> {
  await using model = startChild(new URL("./model-server.ts", import.meta.url));
  await using subject = startChild(new URL("./step-runner.ts", import.meta.url));
  await using baseline = startChild(new URL("./step-runner.ts", import.meta.url));
  const sides = { model: await model.ask<string>({}), subject, baseline };
  const parts: Record<string, (sides: Sides) => Promise<BenchResult[]>> = { one: oneStep, flat: flatSteps };
  const chosen = Object.entries(parts).filter(([name]) => !only || name === only);
  const results: BenchResult[] = [];
  for (const [, measure] of chosen) results.push(...(await measure(sides)));
  return results;
}

async function oneStep(sides: Sides): Promise<BenchResult[]> {
  const bodies = await bodiesOf(sides, SHORT);
  const times = async (side: Side) => (await runSteps(sides, { side, steps: SHORT, bodies })).times;
  const subject = () => times("subject");
  const baseline = () => times("baseline");
  // Warms up the JIT compiler.
  for (let turn = 0; turn < TURNS; turn += 1) await Promise.all([subject(), baseline()]);
  const sidesInTurn = interleave({ turns: TURNS, quantile: QUANTILE, subject, baseline });
  return [await compare({ name: "a step of the loop", limit: 1 / MAX_FACTOR, ...sidesInTurn })];
}

/**
 * Requests grow with the conversation, so every step takes longer than the last, with and without the loop. The loop's
 * overhead is constant if its last steps slowed down by at most 1.5 times as much as the bare requests.
 */
async function flatSteps(sides: Sides): Promise<BenchResult[]> {
  const bodies = await bodiesOf(sides, LONG);
  const rounds: { late: number; expected: number; grown: number }[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    const early: Record<Side, number[]> = { subject: [], baseline: [] };
    const later: Record<Side, number[]> = { subject: [], baseline: [] };
    let grown = Number.POSITIVE_INFINITY;
    for (let turn = 0; turn < LONG_TURNS; turn += 1) {
      for (const side of ["subject", "baseline"] as const) {
        const { times, memory } = await runSteps(sides, { side, steps: LONG, bodies });
        early[side].push(...times.slice(0, WINDOW));
        later[side].push(...times.slice(-WINDOW));
        if (side === "subject") grown = Math.min(grown, memory[1] - memory[0]);
      }
    }
    const slowed = rate(later.baseline) / rate(early.baseline);
    const late = rate(later.subject);
    const expected = rate(early.subject) * slowed;
    rounds.push({ late, expected, grown });
    console.log(
      `  ${LONG} steps, round ${round}: the last ${WINDOW} at ${late.toFixed(0)}/s vs. ${expected.toFixed(0)}/s expected, ${grown.toFixed(2)} MiB more`,
    );
  }
  const ratios = rounds.map(({ late, expected }) => late / expected);
  const flat: BenchResult = {
    name: `the last ${WINDOW} of ${LONG} steps`,
    limit: 1 / MAX_SLOWDOWN,
    ratio: median(ratios),
    range: [Math.min(...ratios), Math.max(...ratios)],
    subject: median(rounds.map(({ late }) => late)),
    baseline: median(rounds.map(({ expected }) => expected)),
  };
  const measured = rounds.map(({ grown }) => Math.max(grown, 0.01));
  return [
    flat,
    checkLimit({ name: `memory of ${LONG * 0.9} steps`, measured, max: MEMORY_MIB, unit: "MiB" }),
  ];
}

/** Returns the requests that the loop sends, and warms up its code. */
async function bodiesOf({ model, subject }: Sides, steps: number): Promise<string[]> {
  const { bodies } = await subject.ask<StepResult>({
    baseUrl: model,
    steps,
    record: true,
  } satisfies StepRequest);
  return bodies;
}

function runSteps(
  sides: Sides,
  { side, steps, bodies }: { side: Side; steps: number; bodies: string[] },
): Promise<StepResult> {
  const question: StepRequest = { baseUrl: sides.model, steps };
  return sides[side].ask<StepResult>(side === "baseline" ? { ...question, bodies } : question);
}

function rate(times: number[]): number {
  return rateOf(times, QUANTILE).perSecond;
}
