import { type Child, startChild } from "./child.ts";
import { compare, hold, inTurns, median, rateOf, type Verdict } from "./rounds.ts";
import type { Stepped, Stepper } from "./stepper.ts";

const SHORT = 50;
const TURNS = 6;
const LONG_TURNS = 2;
/** Steps that had the machine to themselves: the longer one takes, the oftener somebody else's work comes in between. */
const QUIET = 0.1;
const LONG = 500;
const WINDOW = 50;
const ROUNDS = 5;
/** A step may take so many times as long as its bare request. */
const MOST = 3;
/** What the last steps take beyond the first ones, where the bare requests have grown as much as ours. */
const GROWTH = 1.5;
/** All that 450 more steps may leave in memory: their transcript has about a fifth of a MiB. */
const MEMORY_MIB = 4;

type Side = "subject" | "anchor";

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
  const times = async (side: Side) => (await play(sides, { side, steps: SHORT, bodies })).times;
  const subject = () => times("subject");
  const anchor = () => times("anchor");
  // Code is compiled while it runs.
  for (let turn = 0; turn < TURNS; turn += 1) await Promise.all([subject(), anchor()]);
  const contest = inTurns({ turns: TURNS, part: QUIET, subject, anchor });
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
    const early: Record<Side, number[]> = { subject: [], anchor: [] };
    const later: Record<Side, number[]> = { subject: [], anchor: [] };
    let grown = Number.POSITIVE_INFINITY;
    for (let turn = 0; turn < LONG_TURNS; turn += 1) {
      for (const side of ["subject", "anchor"] as const) {
        const { times, memory } = await play(sides, { side, steps: LONG, bodies });
        early[side].push(...times.slice(0, WINDOW));
        later[side].push(...times.slice(-WINDOW));
        if (side === "subject") grown = Math.min(grown, memory[1] - memory[0]);
      }
    }
    const slowed = rate(later.anchor) / rate(early.anchor);
    const late = rate(later.subject);
    const expected = rate(early.subject) * slowed;
    rounds.push({ late, expected, grown });
    console.log(
      `  ${LONG} steps, round ${round}: the last ${WINDOW} at ${late.toFixed(0)}/s against ${expected.toFixed(0)}/s expected, ${grown.toFixed(2)} MiB more`,
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
  { side, steps, bodies }: { side: Side; steps: number; bodies: string[] },
): Promise<Stepped> {
  const question: Stepper = { baseUrl: sides.model, steps };
  return sides[side].ask<Stepped>(side === "anchor" ? { ...question, bodies } : question);
}

function rate(times: number[]): number {
  return rateOf(times, QUIET).perSecond;
}
