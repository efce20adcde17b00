import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { openDb } from "../../src/store/connection/db.ts";
import { type TestServer, testServer } from "../server.ts";

/** Between the loss of a primary and the promotion of its standby, the database is read-only. */

let server: TestServer;

beforeAll(async () => {
  server = await testServer();
});

afterAll(async () => {
  await server.stop();
});

/** Simulates a changed DNS entry: all connections are closed and reopened. */
async function turn(writes: boolean) {
  const name = new URL(server.databaseUrl.replace("@/", "@localhost/")).pathname.slice(1);
  const admin = openDb(inject("postgres"), { connections: 1 });
  try {
    await admin`alter database ${admin(name)} set default_transaction_read_only = ${admin.unsafe(writes ? "off" : "on")}`;
    await admin`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`;
  } finally {
    await admin.end();
  }
}

test("a server on a standby serves reads, asks writers to retry, and accepts writes after the promotion", async () => {
  const create = () => server.call("POST", "/agent/run", { body: { prompt: "SAY: x" } });
  const list = () => server.call("GET", "/agent/runs");
  expect((await create()).status).toBe(200);
  await turn(false);
  await vi.waitUntil(async () => (await list()).status === 200, waitOptions);
  const refused = await create();
  expect(refused).toMatchObject({
    status: 503,
    body: { error_code: "resource_unavailable", retryable: true },
  });
  expect(refused.headers.get("retry-after")).toBe("1");
  await turn(true);
  await vi.waitUntil(async () => (await create()).status === 200, waitOptions);
});
