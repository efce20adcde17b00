import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Db, openDb } from "../../src/store/connection/db.ts";
import { newWorker } from "../engine.ts";
import { type TestServer, testServer } from "../server.ts";

const REQUESTS_PER_KIND = 20;

let server: TestServer;
let observer: Db;

beforeAll(async () => {
  server = await testServer();
  observer = openDb(server.databaseUrl, { connections: 1, applicationName: "observer" });
});
afterAll(async () => {
  await observer.end();
  await server.stop();
});

test("200 concurrent requests of all kinds succeed with at most 12 connections", async () => {
  const { body: run } = await server.call("POST", "/agent/run", { body: { prompt: "SAY: a" } });
  const once = () => ({ "idempotency-key": randomUUID() });
  const { body: workerKey } = await server.call("POST", "/keys", { body: { name: "w", type: "worker" } });
  const worker = newWorker("w");
  const claim = () => ({ request_id: randomUUID(), worker, free: 0, wait_ms: 0 });
  const kinds: (() => Promise<{ status: number }>)[] = [
    () => server.call("POST", "/agent/run", { body: { prompt: "SAY: b" }, headers: once() }),
    () => server.call("POST", "/agent/run", { body: { prompt: "SAY: c" } }),
    () => server.call("GET", `/agent/runs/${run.run_id}`),
    () => server.call("GET", `/agent/runs/${run.run_id}/events`),
    () => server.call("GET", "/agent/runs?q=say"),
    () => server.call("PUT", "/agent/secrets/NAME", { body: { value: "long enough" } }),
    () => server.call("GET", "/me"),
    () => server.call("GET", `${server.origin}/metrics`),
    () => server.call("POST", "/worker/claim", { body: claim(), key: workerKey.key }),
    // Handlers that run in the transaction of an idempotency key must not wait for a second connection.
    () =>
      server.call("POST", `/forges/${randomUUID()}/test`, { body: { repository: "a/b" }, headers: once() }),
  ];
  const replies = await Promise.all(
    Array.from({ length: REQUESTS_PER_KIND }, () => kinds.map((send) => send())).flat(),
  );
  const statuses = kinds.map((_, kind) => [
    ...new Set(replies.filter((_reply, index) => index % kinds.length === kind).map(({ status }) => status)),
  ]);
  expect(statuses).toEqual([[200], [200], [200], [200], [200], [200], [200], [200], [200], [404]]);
  const [row] = await observer<{ count: number }[]>`
    select count(*)::int as count from pg_stat_activity
    where datname = current_database() and application_name like 'outrider%'`;
  expect(row?.count).toBeLessThanOrEqual(12);
  expect(row?.count).toBeGreaterThan(8);
});
