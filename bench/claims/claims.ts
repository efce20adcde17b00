import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { defaultRunPolicy } from "../../packages/server/src/engine/runs/run-policy.ts";
import { startEmbedded } from "../../packages/server/src/postgres/embedded-postgres.ts";
import { type Db, openDb, type PostgresConnection } from "../../packages/server/src/store/connection/db.ts";
import { claimBatch } from "../../packages/server/src/store/dispatch/claims.ts";
import { migrate } from "../../packages/server/src/store/migrate.ts";
import { insertRun } from "../../packages/server/src/store/runs/runs.ts";
import { type BenchResult, compare, interleave } from "../support/compare.ts";

/**
 * Compares a claim and the creation of a run in an installation with 160,000 active runs to those in one with 1,000, with and
 * without an installation limit: neither may take more than 1.5 times as long. Both are databases of one PostgreSQL. The
 * times are those of the statements alone, because the rest does not depend on the number of active runs.
 */

const LARGE = 160_000;
const SMALL = 1_000;
const OWNERS = 200;
/** How many runs are claimed in a turn, one by one. */
const CLAIMS = 40;
const TURNS = 5;
const LIMIT = 1 / 1.5;

export async function benchClaims(only?: string): Promise<BenchResult[]> {
  await using stack = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), "outrider-bench-"));
  stack.defer(() => rm(dataDir, { recursive: true, force: true }));
  const postgres = await startEmbedded({ dataDir, log: pino({ level: "silent" }) });
  stack.defer(() => postgres.stop());
  const open = async (active: number) => {
    const db = await openInstallation(postgres.connection, active);
    stack.defer(() => db.end({ timeout: 5 }));
    return db;
  };
  const [small, large] = [await open(SMALL), await open(LARGE)];
  const parts: { name: string; measure(db: Db): Promise<number[]> }[] = [
    { name: "claim", measure: (db) => measureClaims(db) },
    { name: "claim with a limit", measure: (db) => measureClaims(db, 2 * LARGE) },
    { name: "creation", measure: async (db) => (await createRuns(db)).times },
  ];
  const results: BenchResult[] = [];
  for (const { name, measure } of parts.filter((part) => !only || part.name.includes(only))) {
    for (const db of [small, large]) await measure(db);
    const sides = interleave({
      turns: TURNS,
      quantile: 0.5,
      subject: () => measure(large),
      baseline: () => measure(small),
    });
    results.push(await compare({ name: `${name} at ${LARGE} active runs`, limit: LIMIT, ...sides }));
  }
  return results;
}

async function openInstallation(connection: PostgresConnection, active: number): Promise<Db> {
  const database = `bench_${active}`;
  const admin = openDb(connection, { connections: 1, applicationName: "outrider-bench" });
  await admin`create database ${admin(database)}`;
  await admin.end();
  const db = openDb({ ...connection, database }, { connections: 1, applicationName: "outrider-bench" });
  await migrate(db);
  await db`set statement_timeout = 0`;
  await db`
    create table bench_owners as
    select n, gen_random_uuid() as uid, gen_random_uuid() as key_id from generate_series(0, ${OWNERS - 1}::int) n`;
  await db`
    with seeded as materialized (
      select gen_random_uuid() as run_id, uid, key_id from generate_series(1, ${active}::int) i join bench_owners on n = i % ${OWNERS}
    ),
    run as (
      insert into runs (run_id, title, prompt, state, created_at, updated_at, source, creator_type, creator_uid, model_id,
        agent_config, trace_id, counted_state)
      select run_id, 'Seeded', 'Seeded', 'INPROGRESS', outrider_now(), outrider_now(), 'API', 'user', uid, 'scripted', '{}', 'seed',
        'INPROGRESS'
      from seeded
    )
    insert into run_state (run_id, state, phase, attempt, last_seq, owner_uid, key_id, execution_id, worker_id, lease_expires_at,
      turn_deadline_at)
    select run_id, 'INPROGRESS', 'working', 1, 1, uid, key_id, gen_random_uuid(), gen_random_uuid(),
      outrider_now() + interval '1 day', outrider_now() + interval '1 day'
    from seeded`;
  // The service folds while it runs; here, all runs become active in one statement.
  await db`select outrider_fold_active()`;
  await db`vacuum (analyze) runs, run_state, active_changes, active_counts`;
  return db;
}

const worker = { worker_id: randomUUID(), name: "bench", version: "0", slots: 1 };

/** Claims queued runs one by one, and then ends them, so that the number of active runs stays the same. */
async function measureClaims(db: Db, maxConcurrentRuns?: number): Promise<number[]> {
  const { runIds } = await createRuns(db);
  const policy = { ...defaultRunPolicy, ...(maxConcurrentRuns ? { maxConcurrentRuns } : {}), history: 10 };
  const times: number[] = [];
  const claimed = new Set<string>();
  for (let count = 0; count < CLAIMS; count++) {
    const startedAt = performance.now();
    const claims = [{ request_id: randomUUID(), worker, free: 1, labels: {} }];
    const found = await claimBatch(db, { pool: "default", claims }, policy);
    times.push(performance.now() - startedAt);
    for (const { work } of found.claimed.values()) for (const { run_id } of work) claimed.add(run_id);
  }
  if (claimed.size !== CLAIMS || runIds.some((runId) => !claimed.has(runId)))
    throw new Error(`Only ${claimed.size} of ${CLAIMS} runs were claimed.`);
  await endRuns(db, [...claimed]);
  return times;
}

/** Creates runs. A creation that is measured alone leaves them to the next claims. */
async function createRuns(db: Db): Promise<{ runIds: string[]; times: number[] }> {
  const owners = await db<{ uid: string; key_id: string }[]>`select uid, key_id from bench_owners`;
  await db`delete from runs where state = 'QUEUED'`;
  const [runIds, times]: [string[], number[]] = [[], []];
  for (let count = 0; count < CLAIMS; count++) {
    const { uid, key_id } = owners[count % OWNERS] as (typeof owners)[number];
    const run_id = randomUUID();
    const startedAt = performance.now();
    await insertRun(
      db,
      {
        ...{ run_id, title: "Bench", prompt: "SAY: nothing", source: "API", credential_id: key_id },
        ...{ creator: { type: "user", uid, display_name: "Bench" }, agent_config: { model_id: "scripted" } },
        ...{ named_by_skill: false, attachments: [], priority: 0, trace_id: "bench" },
      },
      60_000,
    );
    times.push(performance.now() - startedAt);
    runIds.push(run_id);
  }
  return { runIds, times };
}

async function endRuns(db: Db, runIds: string[]): Promise<void> {
  await db`update run_state set state = 'SUCCEEDED', execution_id = null where run_id = any(${runIds}::uuid[])`;
  await db`delete from executions where run_id = any(${runIds}::uuid[])`;
  await db`delete from runs where run_id = any(${runIds}::uuid[])`;
}
