import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { startEmbedded } from "../../packages/server/src/postgres/embedded-postgres.ts";
import { startChild } from "../support/child-process.ts";
import { type BenchResult, checkLimit } from "../support/compare.ts";
import { createWorkerKey, startOutrider } from "../support/start-outrider.ts";
import type { IdleQuestion } from "./idle-workers.ts";
import { startStatementCounter } from "./statement-counter.ts";

/**
 * Counts the statements that a server with 2,000 idle workers sends to PostgreSQL. The workers use several keys, because the
 * cost must not depend on how many there are.
 */

const WORKERS = 2_000;
const KEYS = 20;
const MAX_PER_SECOND = 20;
const ROUNDS = 3;
/** Longer than any interval of a worker or of a background task that runs often. */
const ROUND_MS = 20_000;
const SETTLE_MS = 5_000;

export async function benchIdle(): Promise<BenchResult[]> {
  await using stack = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), "outrider-bench-"));
  stack.defer(() => rm(dataDir, { recursive: true, force: true }));
  const postgres = await startEmbedded({ dataDir, log: pino({ level: "silent" }) });
  stack.defer(() => postgres.stop());
  const { host, port, user, password, database } = postgres.connection;
  const counter = stack.use(await startStatementCounter(join(host, `.s.PGSQL.${port}`)));
  const databaseUrl = `postgres://${user}:${encodeURIComponent(password)}@127.0.0.1:${counter.port}/${database}`;
  const server = stack.use(await startOutrider({ databaseUrl, connection: postgres.connection }));
  const keys: string[] = [];
  for (let count = 0; count < KEYS; count++) keys.push(await createWorkerKey(server));
  const workers = stack.use(startChild(new URL("idle-workers.ts", import.meta.url)));
  const question: IdleQuestion = { origin: server.origin, keys, workers: WORKERS };
  await workers.ask<number>(question);
  await sleep(SETTLE_MS);
  const measured: number[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const before = counter.count();
    const startedAt = performance.now();
    await sleep(ROUND_MS);
    const perSecond = (counter.count() - before) / ((performance.now() - startedAt) / 1_000);
    measured.push(perSecond);
    console.log(
      `  idle, round ${round}: ${perSecond.toFixed(1)} statements per second, ${counter.connections()} connections`,
    );
  }
  return [checkLimit({ name: `${WORKERS} idle workers`, measured, max: MAX_PER_SECOND, unit: "/s" })];
}
