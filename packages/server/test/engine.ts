import { randomBytes, randomUUID } from "node:crypto";
import type { CreateKeyRequest } from "@outrider/contract/auth/key";
import type { ErrorCode } from "@outrider/contract/errors/error";
import type { RunAgentRequest, RunUsage } from "@outrider/contract/run";
import type { Assignment, ClaimRequest, WorkerInfo } from "@outrider/contract/worker";
import { ApiError } from "../src/engine/api-error.ts";
import { createKey, hashKey } from "../src/engine/auth/keys.ts";
import { type Principal, principalOf } from "../src/engine/auth/principal.ts";
import { openVault, type Vault } from "../src/engine/auth/vault.ts";
import { assignAll, type ClaimServices, claimForAll } from "../src/engine/dispatch/claims.ts";
import { placeOf } from "../src/engine/dispatch/pools.ts";
import { reap } from "../src/engine/dispatch/reaper.ts";
import { type Harnesses, openHarnesses } from "../src/engine/harnesses/harnesses.ts";
import type { BudgetLimits } from "../src/engine/limits/budgets.ts";
import type { PubSub } from "../src/engine/live/pubsub.ts";
import { type Models, openModels } from "../src/engine/models/models.ts";
import { addUser } from "../src/engine/operations/bootstrap.ts";
import { defaultRunPolicy, type RunPolicy } from "../src/engine/runs/run-policy.ts";
import { createRun } from "../src/engine/runs/runs.ts";
import { findKeyOwner, type KeyOwner } from "../src/store/auth/keys.ts";
import { type Db, openDb, type Tx } from "../src/store/connection/db.ts";
import { migrate } from "../src/store/migrate.ts";
import { lockRunState } from "../src/store/runs/run-state.ts";
import { testDatabase } from "./server.ts";

/** True in `make full`, which runs longer rounds. */
export const isFull = process.env.OUTRIDER_FULL === "1";

export interface ClaimOptions {
  worker?: WorkerInfo;
  free?: number;
  request_id?: string;
  takes_harnesses?: true | undefined;
}

export interface TestEngine {
  /** The URL of its database, for starting another server. */
  url: string;
  db: Db;
  vault: Vault;
  models: Models;
  harnesses: Harnesses;
  policy: RunPolicy;
  quotas: BudgetLimits;
  admin: Principal;
  /** Claims runs unless a test names another worker. */
  worker: WorkerInfo;
  user(email: string): Promise<Principal>;
  /** Creates another key of the admin or of a cloud agent. */
  key(request: CreateKeyRequest): Promise<Principal>;
  create(request?: Partial<RunAgentRequest>, principal?: Principal): Promise<string>;
  claim(options?: ClaimOptions): Promise<Assignment[]>;
  /** Creates a run and claims it. */
  claimed(request?: Partial<RunAgentRequest>): Promise<Assignment>;
  /** Runs work in a transaction. */
  tx<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  reap(): Promise<void>;
  stop(): Promise<void>;
}

/** Opens the engine on its own database, without a server, so that only the test itself changes anything. */
export async function testEngine(
  options: { connections?: number; policy?: Partial<RunPolicy>; models?: Models } = {},
): Promise<TestEngine> {
  const database = await testDatabase();
  const db = openDb(database.url, { connections: options.connections ?? 8 });
  await migrate(db);
  const vault = openVault(randomBytes(32));
  const models = options.models ?? openModels({ providers: {}, aliases: {} });
  const policy: RunPolicy = { ...defaultRunPolicy, ...options.policy };
  const principal = async (raw: string) =>
    principalOf((await findKeyOwner(db, hashKey(raw) as Buffer)) as KeyOwner);
  const admin = await principal(await addUser(db, { email: "a@x.test", display_name: "A", role: "admin" }));
  const engine: TestEngine = {
    url: database.url,
    db,
    vault,
    models,
    harnesses: openHarnesses({}, models),
    policy,
    quotas: {},
    admin,
    worker: anyWorker,
    user: async (email) => principal(await addUser(db, { email, display_name: email, role: "member" })),
    key: async (request) => principal((await createKey(db, admin, request)).raw),
    async create(request, creator = admin) {
      const origin = { principal: creator, source: "API" as const, traceId: "test" };
      const created = await engine.tx((tx) =>
        createRun(tx, engine, origin, { prompt: "SAY: hello", ...request }),
      );
      return created.run_id;
    },
    async claim({ worker = anyWorker, free = 100, request_id = randomUUID(), ...takes } = {}) {
      const { models: currentModels, harnesses } = engine;
      return claim(
        db,
        { vault, models: currentModels, harnesses, policy, gitHost: "https://git.test" },
        { request_id, worker, free, wait_ms: 0, ...takes },
      );
    },
    async claimed(request) {
      const run_id = await engine.create(request);
      return (await engine.claim()).find((execution) => execution.run_id === run_id) as Assignment;
    },
    tx: (work) => db.begin(work) as Promise<Awaited<ReturnType<typeof work>>>,
    reap: () => reap(db, policy, noPubSub),
    async stop() {
      await db.end();
      await database.drop();
    },
  };
  return engine;
}

/** Claims runs for all of a worker's free slots, as far as the concurrency limits allow. */
export async function claim(db: Db, services: ClaimServices, request: ClaimRequest): Promise<Assignment[]> {
  const { claimed } = await claimForAll(db, services, placeOf(request.worker).pool, [request]);
  return assignAll(db, services, claimed.get(request.request_id)?.work ?? []);
}

export function newWorker(name = "test"): WorkerInfo {
  return { worker_id: randomUUID(), name, version: "0", slots: 100 };
}

const anyWorker = newWorker();

/** Drops every message. */
const noPubSub: PubSub = { publish() {}, on: () => () => {}, next: async () => {}, close: async () => {} };

export const someUsage: RunUsage = {
  input_tokens: 1,
  cached_input_tokens: 0,
  output_tokens: 2,
  cost_usd: 0,
  steps: 1,
  run_seconds: 0,
};

export type Attempt<T> = { answer: T } | { refused: ErrorCode };

/** Returns an API error as a result. Any other error fails the test. */
export async function attempt<T>(work: () => T | Promise<T>): Promise<Attempt<T>> {
  try {
    return { answer: await work() };
  } catch (error) {
    if (error instanceof ApiError) return { refused: error.code };
    throw error;
  }
}

/** Sets the clock of a pool that has one connection. */
export async function setClock(db: Db, ms: number): Promise<void> {
  await db`select set_config('outrider.now', ${new Date(ms).toISOString()}, false)`;
}

/** Sets the clock to a fixed time. Returns a function that advances the clock and then runs the reaper. */
export async function startClock(engine: TestEngine): Promise<(ms: number) => Promise<void>> {
  let now = Date.UTC(2030, 0, 1);
  await setClock(engine.db, now);
  return async (ms) => {
    now += ms;
    await setClock(engine.db, now);
    await engine.reap();
  };
}

/** Returns the log as `type turn.attempt`, and checks that its numbers have no gap. */
export async function logOf(db: Db, runId: string): Promise<string[]> {
  const rows = await db<{ seq: number; line: string; last_seq: number }[]>`
    select e.seq, e.type || ' ' || e.turn || '.' || e.attempt as line, h.last_seq
    from events e join run_state h using (run_id) where run_id = ${runId} order by e.seq`;
  const gap = rows.find(({ seq }, index) => seq !== index + 1);
  if (gap || rows.at(-1)?.last_seq !== rows.length)
    throw new Error(`The log has a gap: ${JSON.stringify(rows)}`);
  return rows.map(({ line }) => line);
}

const WAIT_MS = 30_000;

async function waitForLockWaiters(db: Db, count: number): Promise<void> {
  for (const deadline = Date.now() + WAIT_MS; Date.now() < deadline; ) {
    const [row] = await db<{ waiting: number }[]>`
      select count(*)::int as waiting from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    if (row?.waiting === count) return;
  }
  throw new Error(`Timed out waiting for ${count} writers that wait for a lock.`);
}

/** Runs several writers of one run in this order: all of them wait for its lock before the first one gets it. */
export async function inOrder<T extends unknown[]>(
  db: Db,
  runId: string,
  racers: { [I in keyof T]: () => Promise<T[I]> },
): Promise<{ [I in keyof T]: Attempt<T[I]> }> {
  const held = Promise.withResolvers<void>();
  const ready = Promise.withResolvers<void>();
  const holder = db.begin(async (tx) => {
    await lockRunState(tx, runId);
    held.resolve();
    await ready.promise;
  });
  await held.promise;
  const running: Promise<unknown>[] = [];
  try {
    for (const racer of racers) {
      running.push(attempt(racer));
      await waitForLockWaiters(db, running.length);
    }
  } finally {
    ready.resolve();
    await holder;
  }
  return Promise.all(running) as Promise<{ [I in keyof T]: Attempt<T[I]> }>;
}
