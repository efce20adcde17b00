import { type Db, openDb } from "../packages/server/src/store/db.ts";
import { type Child, startChild } from "./child.ts";
import type { Creator } from "./creator.ts";
import type { Jobs, Times } from "./jobs.ts";
import { type Outrider, startOutrider } from "./outrider.ts";
import { createJobs } from "./queue.ts";
import { compare, type Sample, type Verdict } from "./rounds.ts";
import { until } from "./until.ts";
import { startWorkerProcess } from "./worker.ts";

/**
 * How many runs that do nothing go from their creation to SUCCEEDED in a second, with the worker and the loop that all
 * runs have, against the jobs of the plainest queue (see jobs.ts), each made, taken and marked done.
 */

const RUNS = 1_000;
const CALLERS = 8;
const SLOTS = 32;
/** As many rounds until neither side's programs get faster by being compiled as they run. */
const WARM_UPS = 3;

export async function benchRuns(): Promise<Verdict[]> {
  await using outrider = await startOutrider();
  await using stack = new AsyncDisposableStack();
  const db = openDb(outrider.connection, { connections: 1, applicationName: "outrider-bench" });
  stack.defer(() => db.end({ timeout: 5 }));
  await createJobs(outrider.connection);
  stack.use(await startWorkerProcess(outrider, SLOTS));
  const start = (file: string) => stack.use(startChild(file));
  const creator = start("creator.ts");
  const [maker, taker] = [start("jobs.ts"), start("jobs.ts")];
  const subject = () => runsOf(outrider, { creator, db });
  const anchor = () => jobsOf(outrider, { maker, taker });
  for (let round = 0; round < WARM_UPS; round++) {
    await subject();
    await anchor();
  }
  return [await compare({ name: "no-op runs", limit: 0.2, subject, anchor })];
}

async function runsOf(
  { origin, key }: Outrider,
  { creator, db }: { creator: Child; db: Db },
): Promise<Sample> {
  const before = await countSucceeded(db);
  const began = performance.now();
  const asked: Creator = { origin, key, prompt: "SAY: done", count: RUNS, callers: CALLERS };
  await creator.ask(asked);
  await until("all runs to end", async () => !(await isAnyOpen(db)));
  const perSecond = (RUNS * 1_000) / (performance.now() - began);
  const succeeded = (await countSucceeded(db)) - before;
  if (succeeded !== RUNS) throw new Error(`${RUNS} runs were created, but ${succeeded} succeeded.`);
  return { perSecond };
}

/** Answered from an index: to count the ended ones again and again would be work that is no part of any run. */
async function isAnyOpen(db: Db): Promise<boolean> {
  const [row] =
    await db`select exists (select 1 from run_heads where state in ('QUEUED', 'INPROGRESS')) as open`;
  return row?.open as boolean;
}

async function countSucceeded(db: Db): Promise<number> {
  const [row] = await db`select count(*)::int as count from run_heads where state = 'SUCCEEDED'`;
  return row?.count as number;
}

async function jobsOf(
  { connection }: Outrider,
  { maker, taker }: Record<"maker" | "taker", Child>,
): Promise<Sample> {
  const jobs = { connection, count: RUNS, callers: CALLERS };
  const began = performance.now();
  const [taken] = await Promise.all([
    taker.ask<Times>({ ...jobs, does: "do" } satisfies Jobs),
    maker.ask<Times>({ ...jobs, does: "make" } satisfies Jobs),
  ]);
  if (taken.size !== RUNS) throw new Error(`${RUNS} jobs were made, but ${taken.size} taken.`);
  return { perSecond: (RUNS * 1_000) / (performance.now() - began) };
}
