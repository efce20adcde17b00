import { setTimeout as sleep } from "node:timers/promises";
import { startChild } from "../support/child-process.ts";
import { type BenchResult, checkLimit } from "../support/compare.ts";
import { startCountedDatabase } from "../support/counted-database.ts";
import type { StartWorkers } from "../support/protocol-workers.ts";
import { createWorkerKey, post, startOutrider } from "../support/start-outrider.ts";

/**
 * Counts the statements that a server with 2,000 idle workers sends to PostgreSQL: first without runs, then with runs that
 * none of the workers can take. The workers use several keys, because the cost must not depend on how many there are.
 */

const WORKERS = 2_000;
const KEYS = 20;
const MAX_PER_SECOND = 20;
const ROUNDS = 3;
/** Longer than any interval of a worker or of a background task that runs often. */
const ROUND_MS = 20_000;
/** Longer than the first claim of a worker, which may end at once. */
const SETTLE_MS = 20_000;
const UNMATCHED_RUNS = 10;

export async function benchIdle(): Promise<BenchResult[]> {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await startCountedDatabase());
  const { counter } = database;
  const server = stack.use(await startOutrider(database));
  const keys: string[] = [];
  for (let count = 0; count < KEYS; count++) keys.push(await createWorkerKey(server));
  const workers = stack.use(startChild(new URL("../support/protocol-workers.ts", import.meta.url)));
  await workers.ask({ origins: [server.origin], keys, workers: WORKERS } satisfies StartWorkers);

  const measure = async (name: string): Promise<BenchResult> => {
    await sleep(SETTLE_MS);
    const measured: number[] = [];
    for (let round = 1; round <= ROUNDS; round++) {
      const before = counter.count();
      const startedAt = performance.now();
      await sleep(ROUND_MS);
      const perSecond = (counter.count() - before) / ((performance.now() - startedAt) / 1_000);
      measured.push(perSecond);
      const rate = `${perSecond.toFixed(1)} statements per second`;
      console.log(`  ${name}, round ${round}: ${rate}, ${counter.connections()} connections`);
    }
    return checkLimit({ name, measured, max: MAX_PER_SECOND, unit: "/s" });
  };

  const idle = await measure(`${WORKERS} idle workers`);
  for (let count = 0; count < UNMATCHED_RUNS; count++)
    await post(server, "/agent/run", {
      prompt: "SAY: never",
      config: { worker_selector: { region: "unknown" } },
    });
  return [idle, await measure("with queued runs")];
}
