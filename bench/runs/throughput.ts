import { type Db, openDb } from "../../packages/server/src/store/connection/db.ts";
import { type Child, startChild } from "../support/child-process.ts";
import { type BenchResult, compare, type Sample } from "../support/compare.ts";
import { type Outrider, startOutrider } from "../support/start-outrider.ts";
import { startWorkerProcess } from "../support/start-worker.ts";
import { waitUntil } from "../support/wait-until.ts";
import type { Jobs, Times } from "./baseline-queue.ts";
import { createJobs } from "./claim-latency.ts";
import type { CreateRuns } from "./run-creator.ts";

/**
 * Measures how many no-op runs per second go from creation to SUCCEEDED through the real worker and agent loop, compared
 * to the jobs of a minimal queue (see baseline-queue.ts), each created, taken and marked done.
 */

const RUNS = 1_000;
const CALLERS = 8;
/** Runs without commands mostly wait for the server. With fewer slots, the processors are often idle. */
const SLOTS = 64;
/** Enough rounds for the JIT compilation of both sides. */
const WARM_UPS = 3;

export async function benchThroughput(): Promise<BenchResult[]> {
  await using outrider = await startOutrider();
  await using stack = new AsyncDisposableStack();
  const db = openDb(outrider.connection, { connections: 1, applicationName: "outrider-bench" });
  stack.defer(() => db.end({ timeout: 5 }));
  await createJobs(outrider.connection);
  stack.use(await startWorkerProcess(outrider, SLOTS));
  const start = (file: URL) => stack.use(startChild(file));
  const creator = start(new URL("./run-creator.ts", import.meta.url));
  const [maker, taker] = [
    start(new URL("./baseline-queue.ts", import.meta.url)),
    start(new URL("./baseline-queue.ts", import.meta.url)),
  ];
  const subject = () => runsOf(outrider, { creator, db });
  const baseline = () => jobsOf(outrider, { maker, taker });
  for (let round = 0; round < WARM_UPS; round++) {
    await subject();
    await baseline();
  }
  return [await compare({ name: "no-op runs", limit: 0.4, subject, baseline })];
}

async function runsOf(
  { origin, key }: Outrider,
  { creator, db }: { creator: Child; db: Db },
): Promise<Sample> {
  const before = await countSucceeded(db);
  const startedAt = performance.now();
  const asked: CreateRuns = { origin, key, prompt: "SAY: done", count: RUNS, callers: CALLERS };
  await creator.ask(asked);
  await waitUntil("all runs to end", async () => !(await isAnyOpen(db)));
  const perSecond = (RUNS * 1_000) / (performance.now() - startedAt);
  const succeeded = (await countSucceeded(db)) - before;
  if (succeeded !== RUNS) throw new Error(`${RUNS} runs were created, but only ${succeeded} succeeded.`);
  return { perSecond };
}

/** Uses an index: repeatedly counting finished runs would add load that is not part of any run. */
async function isAnyOpen(db: Db): Promise<boolean> {
  const [row] =
    await db`select exists (select 1 from run_state where state in ('QUEUED', 'INPROGRESS')) as open`;
  return row?.open as boolean;
}

async function countSucceeded(db: Db): Promise<number> {
  const [row] = await db`select count(*)::int as count from run_state where state = 'SUCCEEDED'`;
  return row?.count as number;
}

async function jobsOf(
  { connection }: Outrider,
  { maker, taker }: Record<"maker" | "taker", Child>,
): Promise<Sample> {
  const jobs = { connection, count: RUNS, callers: CALLERS };
  const startedAt = performance.now();
  const [taken] = await Promise.all([
    taker.ask<Times>({ ...jobs, action: "complete" } satisfies Jobs),
    maker.ask<Times>({ ...jobs, action: "create" } satisfies Jobs),
  ]);
  if (taken.size !== RUNS) throw new Error(`${RUNS} jobs were created, but only ${taken.size} taken.`);
  return { perSecond: (RUNS * 1_000) / (performance.now() - startedAt) };
}
