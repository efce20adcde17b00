import { openDb, type PostgresConnection } from "../../packages/server/src/store/connection/db.ts";
import { type Child, startChild } from "../support/child-process.ts";
import { type BenchResult, compare, rateOf } from "../support/compare.ts";
import { createWorkerKey, type Outrider, startOutrider } from "../support/start-outrider.ts";
import type { Jobs, Times } from "./baseline-queue.ts";
import type { ClaimRuns } from "./run-claimer.ts";
import type { CreateRuns } from "./run-creator.ts";

/**
 * Measures how soon a worker gets an accepted run, compared to a minimal queue on the same PostgreSQL (see
 * baseline-queue.ts). The time starts when the creator gets its response. A job is then committed, and its taker is
 * notified by NOTIFY and takes it with one statement. A run that finds a waiting claim is claimed in the transaction that
 * creates it, so only the delivery of two responses remains. Each side has one process that creates work and one that
 * takes it, on the same clock. The next item is created only when the taker waits again. Times are shown as rates.
 */

const SAMPLES = 200;
const WARM_UP = 100;
/** Long enough for the taker to be waiting again. */
const PAUSE_MS = 10;

interface Side {
  make(): Promise<Times>;
  take(): Promise<Times>;
}

export async function benchClaimLatency(only?: string): Promise<BenchResult[]> {
  await using outrider = await startOutrider();
  await using stack = new AsyncDisposableStack();
  const start = (file: URL) => stack.use(startChild(file));
  const sides = {
    subject: await runsOf(outrider, {
      creator: start(new URL("./run-creator.ts", import.meta.url)),
      claimer: start(new URL("./run-claimer.ts", import.meta.url)),
    }),
    baseline: await jobsOf(outrider, {
      maker: start(new URL("./baseline-queue.ts", import.meta.url)),
      taker: start(new URL("./baseline-queue.ts", import.meta.url)),
    }),
  };
  await roundOf(sides, WARM_UP);
  // Both quantiles come from the same rounds.
  const rounds: Awaited<ReturnType<typeof roundOf>>[] = [];
  const quantile = (side: keyof typeof sides, part: number) => {
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
  const results: BenchResult[] = [];
  for (const { name, limit, part } of parts) {
    results.push(
      await compare({
        name,
        limit,
        subject: quantile("subject", part),
        baseline: quantile("baseline", part),
      }),
    );
  }
  return results;
}

/** Alternates between the sides, so that a busy moment of the machine affects both. */
async function roundOf(sides: { subject: Side; baseline: Side }, samples: number) {
  const times = { subject: [] as number[], baseline: [] as number[] };
  for (let sample = 0; sample < samples; sample++) {
    times.subject.push(...(await sampleOf(sides.subject)));
    times.baseline.push(...(await sampleOf(sides.baseline)));
  }
  return times;
}

async function sampleOf({ make, take }: Side): Promise<number[]> {
  const making = new Promise((resolve) => setTimeout(resolve, PAUSE_MS)).then(make);
  const [taken, made] = await Promise.all([take(), making]);
  return between(made, taken);
}

/** Returns the milliseconds from acceptance to claim. The claim may even precede the creator's response. */
function between(accepted: Times, taken: Times): number[] {
  return [...accepted].map(([id, at]) => {
    const then = taken.get(id);
    if (then === undefined) throw new Error(`${id} was accepted but not claimed.`);
    return Math.max(Number(then - at) / 1e6, 0.01);
  });
}

async function runsOf(
  { origin, key }: Outrider,
  { creator, claimer }: Record<"creator" | "claimer", Child>,
): Promise<Side> {
  const workerKey = await createWorkerKey({ origin, key });
  const take = () => claimer.ask<Times>({ origin, key: workerKey, count: 1 } satisfies ClaimRuns);
  const make = () =>
    creator.ask<Times>({ origin, key, prompt: "SAY: nothing", count: 1, callers: 1 } satisfies CreateRuns);
  return { take, make };
}

async function jobsOf(
  { connection }: Outrider,
  { maker, taker }: Record<"maker" | "taker", Child>,
): Promise<Side> {
  await createJobs(connection);
  const jobs = { connection, count: 1, callers: 1 };
  const take = () => taker.ask<Times>({ ...jobs, action: "take" } satisfies Jobs);
  const make = () => maker.ask<Times>({ ...jobs, action: "create" } satisfies Jobs);
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
