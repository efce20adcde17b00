import { type Child, startChild } from "./child.ts";
import { compare, hold, median, rateOf, type Sample, type Verdict } from "./rounds.ts";
import type { Stepped, Stepper } from "./stepper.ts";

const SHORT = 50;
/** Short turns take turns, so that a busy moment of the machine meets both sides. */
const TURNS = 6;
const LONG = 500;
const WINDOW = 50;
const ROUNDS = 5;
/** A step may take so many times as long as its bare request. */
const MOST = 3;
/** What the last steps take beyond the first ones, where the bare requests have grown as much as ours. */
const GROWTH = 1.5;
/** All that 450 more steps may leave in memory: their transcript has about a fifth of a MiB. */
const MEMORY_MIB = 4;

interface Sides {
  model: string;
  subject: Child;
  anchor: Child;
}

/** One step of the loop against its bare request, over HTTP to the same model; and whether the five hundredth is like the first. */
export async function benchSteps(only?: string): Promise<Verdict[]> {
  await using model = startChild("model.ts");
  await using subject = startChild("stepper.ts");
  await using anchor = startChild("stepper.ts");
  const sides = { model: await model.ask<string>({}), subject, anchor };
  const parts: Record<string, (sides: Sides) => Promise<Verdict[]>> = { one: oneStep, flat: flatSteps };
  const chosen = Object.entries(parts).filter(([name]) => !only || name === only);
  const verdicts: Verdict[] = [];
  for (const [, measure] of chosen) verdicts.push(...(await measure(sides)));
  return verdicts;
}

async function oneStep(sides: Sides): Promise<Verdict[]> {
  const bodies = await bodiesOf(sides, SHORT);
  // Whoever begins plays both sides of the round; the other one's figures are there when they are asked for.
  let played: { subject: number[]; anchor: number[] } | undefined;
  const round = async () => {
    const times = { subject: [] as number[], anchor: [] as number[] };
    for (let turn = 0; turn < TURNS; turn += 1) {
      for (const side of ["subject", "anchor"] as const) {
        times[side].push(...(await play(sides, { side, steps: SHORT, bodies })).times);
      }
    }
    return times;
  };
  const sample = async (side: "subject" | "anchor"): Promise<Sample> => {
    const times = played ?? (await round());
    played = played ? undefined : times;
    return { perSecond: rate(times[side]) };
  };
  await round();
  const contest = { subject: () => sample("subject"), anchor: () => sample("anchor") };
  return [await compare({ name: "a step of the loop", limit: 1 / MOST, ...contest })];
}

/**
 * Requests grow with the conversation, so every step takes longer than the one before, here and by hand. What the loop
 * adds is flat when its last steps have slowed down no more than the bare requests have, times 1.5.
 */
async function flatSteps(sides: Sides): Promise<Verdict[]> {
  const bodies = await bodiesOf(sides, LONG);
  const rounds: { late: number; expected: number; grown: number }[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    const order = round % 2 === 1 ? (["subject", "anchor"] as const) : (["anchor", "subject"] as const);
    const played: Partial<Record<"subject" | "anchor", Stepped>> = {};
    for (const side of order) played[side] = await play(sides, { side, steps: LONG, bodies });
    const { subject, anchor } = played as Record<"subject" | "anchor", Stepped>;
    const slowed = rate(anchor.times.slice(-WINDOW)) / rate(anchor.times.slice(0, WINDOW));
    const late = rate(subject.times.slice(-WINDOW));
    const expected = rate(subject.times.slice(0, WINDOW)) * slowed;
    const grown = subject.memory[1] - subject.memory[0];
    rounds.push({ late, expected, grown });
    const [first, last] = subject.memory.map((one) => one.toFixed(1));
    console.log(
      `  ${LONG} steps, round ${round}: the last ${WINDOW} at ${late.toFixed(0)}/s against ${expected.toFixed(0)}/s expected, ${first} to ${last} MiB`,
    );
  }
  const ratios = rounds.map(({ late, expected }) => late / expected);
  const flat: Verdict = {
    name: `the last ${WINDOW} of ${LONG} steps`,
    limit: 1 / GROWTH,
    ratio: median(ratios),
    spread: [Math.min(...ratios), Math.max(...ratios)],
    subject: median(rounds.map(({ late }) => late)),
    anchor: median(rounds.map(({ expected }) => expected)),
  };
  const measured = rounds.map(({ grown }) => Math.max(grown, 0.01));
  return [flat, hold({ name: `memory of ${LONG * 0.9} steps`, measured, most: MEMORY_MIB, unit: "MiB" })];
}

/** What the loop sends; it also has its code compiled by this. */
async function bodiesOf({ model, subject }: Sides, steps: number): Promise<string[]> {
  const { bodies } = await subject.ask<Stepped>({ baseUrl: model, steps, record: true } satisfies Stepper);
  return bodies;
}

function play(
  sides: Sides,
  { side, steps, bodies }: { side: "subject" | "anchor"; steps: number; bodies: string[] },
): Promise<Stepped> {
  const question: Stepper = { baseUrl: sides.model, steps };
  return sides[side].ask<Stepped>(side === "anchor" ? { ...question, bodies } : question);
}

/** Of steps that had the machine to themselves: the longer one takes, the oftener somebody else's work comes in between. */
function rate(times: number[]): number {
  return rateOf(times, 0.1).perSecond;
}
