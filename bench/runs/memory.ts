import { openDb } from "../../packages/server/src/store/connection/db.ts";
import type { OpenStreams } from "../streams/stream-clients.ts";
import { startChild } from "../support/child-process.ts";
import { type BenchResult, checkLimit } from "../support/compare.ts";
import { memoryOf, processTree } from "../support/process-memory.ts";
import { type Outrider, post, startOutrider } from "../support/start-outrider.ts";
import { startWorkerProcess } from "../support/start-worker.ts";
import { waitUntil } from "../support/wait-until.ts";
import type { CreateRuns } from "./run-creator.ts";

/** Measures the memory per waiting run and per open stream: the difference between few and many excludes shared memory. */

const RUNS = { few: 100, many: 600, max: 2 };
const STREAMS = { few: 100, many: 2_100, max: 0.1 };
/** The minimum of this many samples counts, because garbage that waits for collection is not needed. */
const SAMPLES = 15;
const INTERVAL_MS = 200;

export async function benchMemory(only?: string): Promise<BenchResult[]> {
  await using outrider = await startOutrider();
  const parts = { run: waitingRuns, stream: openStreams };
  const chosen = Object.entries(parts).filter(([name]) => !only || name === only);
  const results: BenchResult[] = [];
  for (const [, measure] of chosen) results.push(await measure(outrider));
  return results;
}

/** Runs that wait for their model, measured in the worker and all its processes. */
async function waitingRuns(outrider: Outrider): Promise<BenchResult> {
  await using stack = new AsyncDisposableStack();
  const { origin, key } = outrider;
  const db = openDb(outrider.connection, { connections: 1, applicationName: "outrider-bench" });
  stack.defer(() => db.end({ timeout: 5 }));
  const worker = stack.use(await startWorkerProcess(outrider, RUNS.many));
  const creator = stack.use(startChild(new URL("./run-creator.ts", import.meta.url)));
  let current = 0;
  const grow = async (count: number) => {
    const prompt = "SLEEP: 3600000";
    await creator.ask({ origin, key, prompt, count: count - current, callers: 4 } satisfies CreateRuns);
    current = count;
    await waitUntil("all runs to be working", async () => {
      const [row] = await db`select count(*)::int as count from run_state where phase = 'working'`;
      return row?.count === count;
    });
    return minimumOf(() => processTree(worker.pid).reduce((sum, pid) => sum + memoryOf(pid), 0));
  };
  const few = await grow(RUNS.few);
  const many = await grow(RUNS.many);
  console.log(
    `  worker with ${RUNS.few} waiting runs ${few.toFixed(0)} MiB, with ${RUNS.many} ${many.toFixed(0)} MiB`,
  );
  const measured = [(many - few) / (RUNS.many - RUNS.few)];
  return checkLimit({ name: "memory of a waiting run", measured, max: RUNS.max, unit: "MiB" });
}

async function openStreams(outrider: Outrider): Promise<BenchResult> {
  await using watchers = startChild(new URL("../streams/stream-clients.ts", import.meta.url));
  const { origin, key, pid } = outrider;
  const { run_id: runId } = await post<{ run_id: string }>(outrider, "/agent/run", {
    prompt: "SAY: nothing",
  });
  const grow = async (open: number) => {
    await watchers.ask({ origin, key, runId, open } satisfies OpenStreams);
    return minimumOf(() => memoryOf(pid));
  };
  const few = await grow(STREAMS.few);
  const many = await grow(STREAMS.many);
  console.log(
    `  server with ${STREAMS.few} streams ${few.toFixed(0)} MiB, with ${STREAMS.many} ${many.toFixed(0)} MiB`,
  );
  const measured = [(many - few) / (STREAMS.many - STREAMS.few)];
  return checkLimit({ name: "memory of an open stream", measured, max: STREAMS.max, unit: "MiB" });
}

async function minimumOf(measure: () => number): Promise<number> {
  let minimum = Number.POSITIVE_INFINITY;
  for (let sample = 0; sample < SAMPLES; sample++) {
    await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
    minimum = Math.min(minimum, measure());
  }
  return minimum;
}
