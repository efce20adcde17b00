import { join } from "node:path";
import { type Db, openDb } from "@outrider/server/store/connection/db";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { testDatabase } from "../packages/server/test/server.ts";
import {
  addRoleSettings,
  databaseName,
  type PgBouncer,
  startPgBouncer,
} from "../packages/server/test/store/pgbouncer.ts";
import { waitOptions } from "../scripts/tests/wait-options.ts";
import {
  call,
  keyOf,
  makeDataDir,
  outrider,
  type Running,
  removeDataDir,
  run,
  type Serving,
  serve,
} from "./process.ts";

/** The number of PgBouncer's connections to PostgreSQL, fewer than the 22 that two servers open to PgBouncer. */
const POOL_SIZE = 5;
const RUNS = 6;

/** Two servers behind a real PgBouncer in transaction mode, and a worker. The tests share them and run in order. */
describe("an installation behind PgBouncer", () => {
  let pooler: PgBouncer;
  let database: Awaited<ReturnType<typeof testDatabase>>;
  let observer: Db;
  let environment: Record<string, string>;
  let key: string;
  let worker: Running;
  const servers: Serving[] = [];
  const folders = [makeDataDir(), makeDataDir(), makeDataDir()] as const;

  beforeAll(async () => {
    [pooler, database] = await Promise.all([startPgBouncer({ poolSize: POOL_SIZE }), testDatabase()]);
    observer = openDb(database.url, { connections: 1, applicationName: "observer" });
    await addRoleSettings(observer);
    environment = {
      DATABASE_URL: pooler.url(databaseName(database.url)),
      DATABASE_DIRECT_URL: database.url,
      OUTRIDER_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
      OUTRIDER_WORKERS: "0",
    };
    for (const dataDir of folders.slice(0, 2))
      servers.push(await serve({ dataDir, environment: { ...environment, OUTRIDER_BLOBS: folders[2] } }));
    key = keyOf(folders[0]);
    const { body } = await api("POST", "/keys", { name: "worker", type: "worker" });
    const origin = servers[0]?.origin as string;
    const args = ["worker", "--server", origin, "--name", "w", "--data-dir", join(folders[2], "worker")];
    worker = run(args, { OUTRIDER_WORKER_KEY: body.key });
    await worker.waitForOutput("ready for runs");
  });
  afterAll(async () => {
    await worker?.end("SIGKILL");
    await Promise.all(servers.map((server) => server.end("SIGTERM")));
    await observer?.end();
    await pooler?.close();
    await database?.drop();
    for (const folder of folders) removeDataDir(folder);
  });

  const api = (method: string, path: string, body?: unknown, server = 0) =>
    call(method, `${servers[server]?.origin}/api/v1${path}`, { key, body });
  const create = async (prompt: string, server = 0) =>
    (await api("POST", "/agent/run", { prompt }, server)).body.run_id as string;
  const stateOf = async (runId: string) => (await api("GET", `/agent/runs/${runId}`)).body.state as string;
  /** Reads a run's stream to its end. */
  async function follow(runId: string, server: number): Promise<string[]> {
    const headers = { accept: "text/event-stream", authorization: `Bearer ${key}` };
    const url = `${servers[server]?.origin}/api/v1/agent/runs/${runId}/events`;
    const text = await (await fetch(url, { headers })).text();
    return [...text.matchAll(/^event: (run\.\w+)$/gm)].map(([, type]) => type as string);
  }

  test("executes concurrent runs and streams their events from both servers", async () => {
    const ends = await Promise.all(
      Array.from({ length: RUNS }, async (_, index) => {
        const runId = await create(`SAY: hello\nRUN: echo ${index}\nSAY: done`, index % 2);
        return (await follow(runId, (index + 1) % 2)).at(-1);
      }),
    );
    expect(ends).toEqual(Array(RUNS).fill("run.succeeded"));
  });

  test("continues a run with a follow-up, and cancels another", async () => {
    const asking = await create("ASK: Which color?");
    const slow = await create("RUN: sleep 600", 1);
    await vi.waitUntil(async () => (await stateOf(asking)) === "BLOCKED", waitOptions);
    expect((await api("POST", `/agent/runs/${asking}/followups`, { message: "SAY: green" }, 1)).status).toBe(
      200,
    );
    await vi.waitUntil(async () => (await stateOf(slow)) === "INPROGRESS", waitOptions);
    expect((await api("POST", `/agent/runs/${slow}/cancel`)).status).toBe(200);
    expect((await follow(slow, 0)).at(-1)).toBe("run.cancelled");
    expect((await follow(asking, 1)).at(-1)).toBe("run.succeeded");
  });

  test("opens no more connections than PgBouncer's pool and one listener for each server", async () => {
    const connections = await observer<{ listens: boolean; count: number }[]>`
      select query ilike 'listen %' as listens, count(*)::int as count from pg_stat_activity
      where datname = current_database() and application_name <> 'observer' group by 1 order by 1`;
    const [pooled, listeners] = connections;
    expect(pooled?.count).toBeLessThanOrEqual(POOL_SIZE);
    expect(listeners).toEqual({ listens: true, count: 2 });
  });

  test("passes the checks of doctor, and can be backed up", async () => {
    const settings = { ...environment, OUTRIDER_DATA_DIR: folders[0], OUTRIDER_BLOBS: folders[2] };
    const [{ stdout }, backup] = await Promise.all([
      outrider(["doctor", "--for", "server"], settings),
      outrider(["backup", join(folders[0], "backup")], settings),
    ]);
    expect(stdout).toMatch(/^ok {2}pooler +responds in/m);
    expect(stdout).toMatch(/^ok {2}connections /m);
    expect(backup).toMatchObject({ code: 0 });
  });

  test("doctor says what to set if the pooler is not declared, or is not one", async () => {
    const [url, direct] = [environment.DATABASE_URL as string, database.url];
    const doctor = (settings: Record<string, string>) =>
      outrider(["doctor", "--for", "server"], { OUTRIDER_DATA_DIR: folders[0], ...settings });
    const [undeclared, needless] = await Promise.all([
      doctor({ DATABASE_URL: url }),
      doctor({ DATABASE_URL: direct, DATABASE_DIRECT_URL: direct }),
    ]);
    expect(undeclared.code).toBe(1);
    expect(undeclared.stdout).toMatch(/^!! {2}database +DATABASE_URL leads to .* set DATABASE_DIRECT_URL/m);
    expect(needless.stdout).toMatch(/^-- {2}pooler .*unset DATABASE_DIRECT_URL/m);
  });
});
