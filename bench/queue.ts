import { openDb, type PostgresConnection } from "../packages/server/src/store/db.ts";
import { type Child, startChild } from "./child.ts";
import type { Claimer } from "./claimer.ts";
import type { Creator } from "./creator.ts";
import type { Jobs, Times } from "./jobs.ts";
import { createWorkerKey, type Outrider, startOutrider } from "./outrider.ts";
import { compare, rateOf, type Verdict } from "./rounds.ts";

/**
 * How soon an accepted run is at its worker, against the plainest queue on the same PostgreSQL (see jobs.ts). The time
 * begins when who made it is answered. A job is then committed, and its taker is told by NOTIFY and takes it with one
 * statement. A run that finds a claim waiting at its server is claimed in the transaction that creates it, which its
 * creator waits for: what is left is the way of two answers. Both sides have one process that makes work and one that
 * takes it, measured by the machine's one clock. The next is made only when the last is done and the taker waits again.
 * Times stand as rates: half the rate is twice the time.
 */

const SAMPLES = 200;
const WARM_UP = 100;
/** Long enough for who takes to be waiting again. */
const PAUSE_MS = 10;

interface Side {
  make(): Promise<Times>;
  take(): Promise<Times>;
}

export async function benchQueue(only?: string): Promise<Verdict[]> {
  await using outrider = await startOutrider();
  await using stack = new AsyncDisposableStack();
  const start = (file: string) => stack.use(startChild(file));
  const sides = {
    subject: await runsOf(outrider, { creator: start("creator.ts"), claimer: start("claimer.ts") }),
    anchor: await jobsOf(outrider, { maker: start("jobs.ts"), taker: start("jobs.ts") }),
  };
  await roundOf(sides, WARM_UP);
  // Both figures come from the same rounds.
  const rounds: Awaited<ReturnType<typeof roundOf>>[] = [];
  const figure = (side: keyof typeof sides, part: number) => {
    let round = 0;
    return async () => {
      rounds[round] ??= await roundOf(sides, SAMPLES);
      return rateOf(rounds[round++]?.[side] as number[], part);
    };
  };
  const parts = [
    { name: "claim p50", limit: 1 / 2, part: 0.5 },
    { name: "claim p99", limit: 1 / 3, part: 0.99 },
  ].filter(({ name }) => !only || name === `claim ${only}`);
  const verdicts: Verdict[] = [];
  for (const { name, limit, part } of parts) {
    verdicts.push(
      await compare({ name, limit, subject: figure("subject", part), anchor: figure("anchor", part) }),
    );
  }
  return verdicts;
}

/** One by one in turn: a moment in which the machine is busy meets both. */
async function roundOf(sides: { subject: Side; anchor: Side }, samples: number) {
  const times = { subject: [] as number[], anchor: [] as number[] };
  for (let sample = 0; sample < samples; sample++) {
    times.subject.push(...(await sampleOf(sides.subject)));
    times.anchor.push(...(await sampleOf(sides.anchor)));
  }
  return times;
}

async function sampleOf({ make, take }: Side): Promise<number[]> {
  const making = new Promise((resolve) => setTimeout(resolve, PAUSE_MS)).then(make);
  const [taken, made] = await Promise.all([take(), making]);
  return between(made, taken);
}

/** Milliseconds from when each was accepted to when it was taken, which may be before its maker knows. */
function between(accepted: Times, taken: Times): number[] {
  return [...accepted].map(([id, at]) => {
    const then = taken.get(id);
    if (then === undefined) throw new Error(`${id} was accepted, but nobody took it.`);
    return Math.max(Number(then - at) / 1e6, 0.01);
  });
}

async function runsOf(
  { origin, key }: Outrider,
  { creator, claimer }: Record<"creator" | "claimer", Child>,
): Promise<Side> {
  const workerKey = await createWorkerKey({ origin, key });
  const take = () => claimer.ask<Times>({ origin, key: workerKey, count: 1 } satisfies Claimer);
  const make = () =>
    creator.ask<Times>({ origin, key, prompt: "SAY: nothing", count: 1, callers: 1 } satisfies Creator);
  return { take, make };
}

async function jobsOf(
  { connection }: Outrider,
  { maker, taker }: Record<"maker" | "taker", Child>,
): Promise<Side> {
  await createJobs(connection);
  const jobs = { connection, count: 1, callers: 1 };
  const take = () => taker.ask<Times>({ ...jobs, does: "take" } satisfies Jobs);
  const make = () => maker.ask<Times>({ ...jobs, does: "make" } satisfies Jobs);
  return { take, make };
}

export async function createJobs(connection: PostgresConnection) {
  const db = openDb(connection, { connections: 1, applicationName: "outrider-bench" });
  await db`
    create table bench_jobs (
      id bigint generated always as identity primary key, payload jsonb not null, taken_at timestamptz,
      done_at timestamptz)`;
  await db`create index bench_jobs_open on bench_jobs (id) where taken_at is null`;
  await db.end();
}
