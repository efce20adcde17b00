import { openDb } from "../packages/server/src/store/db.ts";
import { startChild } from "./child.ts";
import type { Creator } from "./creator.ts";
import { type Outrider, post, startOutrider } from "./outrider.ts";
import { familyOf, pssOf } from "./pss.ts";
import { hold, type Verdict } from "./rounds.ts";
import type { Streams } from "./streams.ts";
import { until } from "./until.ts";
import { startWorkerProcess } from "./worker.ts";

/** What one more costs in memory, from the difference between few and many, so that what all share does not count. */

const RUNS = { few: 100, many: 600, most: 2 };
const STREAMS = { few: 100, many: 2_100, most: 0.1 };
/** The least of so many looks: what waits to be collected is nobody's need. */
const LOOKS = 15;
const EVERY_MS = 200;

export async function benchMemory(only?: string): Promise<Verdict[]> {
  await using outrider = await startOutrider();
  const parts = { run: waitingRuns, stream: openStreams };
  const chosen = Object.entries(parts).filter(([name]) => !only || name === only);
  const verdicts: Verdict[] = [];
  for (const [, measure] of chosen) verdicts.push(await measure(outrider));
  return verdicts;
}

/** Runs whose model thinks, in the worker and all its processes. */
async function waitingRuns(outrider: Outrider): Promise<Verdict> {
  await using stack = new AsyncDisposableStack();
  const { origin, key } = outrider;
  const db = openDb(outrider.connection, { connections: 1, applicationName: "outrider-bench" });
  stack.defer(() => db.end({ timeout: 5 }));
  const worker = stack.use(await startWorkerProcess(outrider, RUNS.many));
  const creator = stack.use(startChild("creator.ts"));
  let there = 0;
  const grow = async (count: number) => {
    const prompt = "SLEEP: 3600000";
    await creator.ask({ origin, key, prompt, count: count - there, callers: 4 } satisfies Creator);
    there = count;
    await until("all runs to be at work", async () => {
      const [row] = await db`select count(*)::int as count from run_heads where phase = 'working'`;
      return row?.count === count;
    });
    return leastOf(() => familyOf(worker.pid).reduce((sum, pid) => sum + pssOf(pid), 0));
  };
  const few = await grow(RUNS.few);
  const many = await grow(RUNS.many);
  console.log(
    `  worker with ${RUNS.few} waiting runs ${few.toFixed(0)} MiB, with ${RUNS.many} ${many.toFixed(0)} MiB`,
  );
  const measured = [(many - few) / (RUNS.many - RUNS.few)];
  return hold({ name: "memory of a waiting run", measured, most: RUNS.most, unit: "MiB" });
}

async function openStreams(outrider: Outrider): Promise<Verdict> {
  await using watchers = startChild("streams.ts");
  const { origin, key, pid } = outrider;
  const { run_id: runId } = await post<{ run_id: string }>(outrider, "/agent/run", {
    prompt: "SAY: nothing",
  });
  const grow = async (open: number) => {
    await watchers.ask({ origin, key, runId, open } satisfies Streams);
    return leastOf(() => pssOf(pid));
  };
  const few = await grow(STREAMS.few);
  const many = await grow(STREAMS.many);
  console.log(
    `  server with ${STREAMS.few} streams ${few.toFixed(0)} MiB, with ${STREAMS.many} ${many.toFixed(0)} MiB`,
  );
  const measured = [(many - few) / (STREAMS.many - STREAMS.few)];
  return hold({ name: "memory of an open stream", measured, most: STREAMS.most, unit: "MiB" });
}

async function leastOf(look: () => number): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let looks = 0; looks < LOOKS; looks++) {
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    least = Math.min(least, look());
  }
  return least;
}
