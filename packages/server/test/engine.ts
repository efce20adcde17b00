import { randomBytes, randomUUID } from "node:crypto";
import type { ErrorCode } from "@outrider/contract/error";
import type { CreateKeyRequest } from "@outrider/contract/key";
import type { RunAgentRequest, RunUsage } from "@outrider/contract/run";
import type { Assignment, WorkerInfo } from "@outrider/contract/worker";
import type { BudgetRules } from "../src/engine/budgets.ts";
import { claim } from "../src/engine/claims.ts";
import { createKey, hashKey } from "../src/engine/keys.ts";
import { reap } from "../src/engine/leases.ts";
import { type Models, openModels } from "../src/engine/models.ts";
import { type Principal, principalOf } from "../src/engine/principal.ts";
import { Refusal } from "../src/engine/refusal.ts";
import { defaultRules, type Rules } from "../src/engine/rules.ts";
import { createRun } from "../src/engine/runs.ts";
import { openVault, type Vault } from "../src/engine/vault.ts";
import type { Wake } from "../src/engine/wake.ts";
import { addPerson } from "../src/engine/welcome.ts";
import { type Db, openDb, type Tx } from "../src/store/db.ts";
import { lockHead } from "../src/store/heads.ts";
import { findKeyOwner, type KeyOwner } from "../src/store/keys.ts";
import { migrate } from "../src/store/migrate.ts";
import { testDatabase } from "./server.ts";

/** Longer rounds, for `make full`. */
export const isFull = process.env.OUTRIDER_FULL === "1";

export interface ClaimOptions {
  worker?: WorkerInfo;
  free?: number;
  request_id?: string;
}

export interface TestEngine {
  /** Where its database is, for one more server. */
  url: string;
  db: Db;
  vault: Vault;
  models: Models;
  rules: Rules;
  quotas: BudgetRules;
  admin: Principal;
  person(email: string): Promise<Principal>;
  /** One more key of the admin's, or of a cloud agent. */
  key(request: CreateKeyRequest): Promise<Principal>;
  create(request?: Partial<RunAgentRequest>, principal?: Principal): Promise<string>;
  claim(options?: ClaimOptions): Promise<Assignment[]>;
  /** A run that a worker has. */
  claimed(request?: Partial<RunAgentRequest>): Promise<Assignment>;
  /** One transaction of the engine. */
  tx<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  reap(): Promise<void>;
  stop(): Promise<void>;
}

/** The engine on a database of its own and without a server: nothing happens but what the test does. */
export async function testEngine(
  options: { connections?: number; rules?: Partial<Rules>; models?: Models } = {},
): Promise<TestEngine> {
  const database = await testDatabase();
  const db = openDb(database.url, { connections: options.connections ?? 8 });
  await migrate(db);
  const vault = openVault(randomBytes(32));
  const models = options.models ?? openModels({ providers: {}, aliases: {} });
  const rules: Rules = { ...defaultRules, ...options.rules };
  const principal = async (raw: string) =>
    principalOf((await findKeyOwner(db, hashKey(raw) as Buffer)) as KeyOwner);
  const admin = await principal(await addPerson(db, { email: "a@x.test", display_name: "A", role: "admin" }));
  const engine: TestEngine = {
    url: database.url,
    db,
    vault,
    models,
    rules,
    quotas: {},
    admin,
    person: async (email) => principal(await addPerson(db, { email, display_name: email, role: "member" })),
    key: async (request) => principal((await createKey(db, admin, request)).raw),
    async create(request, who = admin) {
      const origin = { principal: who, source: "API" as const, traceId: "test" };
      const made = await engine.tx((tx) =>
        createRun(tx, engine, origin, { prompt: "SAY: hello", ...request }),
      );
      return made.run_id;
    },
    async claim({ worker = anyWorker, free = 100, request_id = randomUUID() } = {}) {
      const { executions } = await claim(
        db,
        { vault, models: engine.models, rules, gitHost: "https://git.test" },
        { request_id, worker, free, wait_ms: 0 },
      );
      return executions;
    },
    async claimed(request) {
      const run_id = await engine.create(request);
      return (await engine.claim()).find((one) => one.run_id === run_id) as Assignment;
    },
    tx: (work) => db.begin(work) as Promise<Awaited<ReturnType<typeof work>>>,
    reap: () => reap(db, rules, deaf),
    async stop() {
      await db.end();
      await database.drop();
    },
  };
  return engine;
}

export function newWorker(name = "test"): WorkerInfo {
  return { worker_id: randomUUID(), name, version: "0", slots: 100 };
}

const anyWorker = newWorker();

/** Nobody listens. */
const deaf: Wake = { say() {}, on: () => () => {}, next: async () => {}, close: async () => {} };

export const someUsage: RunUsage = {
  input_tokens: 1,
  cached_input_tokens: 0,
  output_tokens: 2,
  cost_usd: 0,
  steps: 1,
  run_seconds: 0,
};

export type Attempt<T> = { answer: T } | { refused: ErrorCode };

/** A refusal is an outcome like another; every other error is the test's failure. */
export async function attempt<T>(work: () => T | Promise<T>): Promise<Attempt<T>> {
  try {
    return { answer: await work() };
  } catch (error) {
    if (error instanceof Refusal) return { refused: error.code };
    throw error;
  }
}

/** Sets the clock of a pool that has one connection. */
export async function setClock(db: Db, ms: number): Promise<void> {
  await db`select set_config('outrider.now', ${new Date(ms).toISOString()}, false)`;
}

/** Begins at a fixed moment. The answer goes on by so much, and then holds runs to their bounds. */
export async function startClock(engine: TestEngine): Promise<(ms: number) => Promise<void>> {
  let now = Date.UTC(2030, 0, 1);
  await setClock(engine.db, now);
  return async (ms) => {
    now += ms;
    await setClock(engine.db, now);
    await engine.reap();
  };
}

/** The log as `type turn.attempt`, after a check that its numbers have no gap. */
export async function logOf(db: Db, runId: string): Promise<string[]> {
  const rows = await db<{ seq: number; line: string; last_seq: number }[]>`
    select e.seq, e.type || ' ' || e.turn || '.' || e.attempt as line, h.last_seq
    from events e join run_heads h using (run_id) where run_id = ${runId} order by e.seq`;
  const gap = rows.find(({ seq }, index) => seq !== index + 1);
  if (gap || rows.at(-1)?.last_seq !== rows.length)
    throw new Error(`The log has a gap: ${JSON.stringify(rows)}`);
  return rows.map(({ line }) => line);
}

const WAIT_MS = 4_000;

async function waiters(db: Db, count: number): Promise<void> {
  for (const deadline = Date.now() + WAIT_MS; Date.now() < deadline; ) {
    const [row] = await db<{ waiting: number }[]>`
      select count(*)::int as waiting from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    if (row?.waiting === count) return;
  }
  throw new Error(`There were never ${count} writers that wait for a lock.`);
}

/** Several writers on one run in this order: all of them wait for its lock before the first one gets it. */
export async function inOrder<T extends unknown[]>(
  db: Db,
  runId: string,
  racers: { [I in keyof T]: () => Promise<T[I]> },
): Promise<{ [I in keyof T]: Attempt<T[I]> }> {
  const held = Promise.withResolvers<void>();
  const ready = Promise.withResolvers<void>();
  const holder = db.begin(async (tx) => {
    await lockHead(tx, runId);
    held.resolve();
    await ready.promise;
  });
  await held.promise;
  const running: Promise<unknown>[] = [];
  try {
    for (const racer of racers) {
      running.push(attempt(racer));
      await waiters(db, running.length);
    }
  } finally {
    ready.resolve();
    await holder;
  }
  return Promise.all(running) as Promise<{ [I in keyof T]: Attempt<T[I]> }>;
}
