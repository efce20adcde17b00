import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import { openDb } from "../src/store/db.ts";
import { type TestServer, testServer } from "./server.ts";

/** Between the loss of a primary and the promotion of its standby, the database of a server reads and does not write. */

let server: TestServer;

beforeAll(async () => {
  server = await testServer();
});

afterAll(async () => {
  await server.stop();
});

/** As an address that leads elsewhere now: every connection is new, and finds what it finds. */
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

test("a server before a standby serves readers, asks writers to come again, and takes them once it is promoted", async () => {
  const patience = { timeout: 15_000, interval: 50 };
  const create = () => server.call("POST", "/agent/run", { body: { prompt: "SAY: x" } });
  const list = () => server.call("GET", "/agent/runs");
  expect((await create()).status).toBe(200);
  await turn(false);
  await vi.waitUntil(async () => (await list()).status === 200, patience);
  const refused = await create();
  expect(refused).toMatchObject({
    status: 503,
    body: { error_code: "resource_unavailable", retryable: true },
  });
  expect(refused.headers.get("retry-after")).toBe("1");
  await turn(true);
  await vi.waitUntil(async () => (await create()).status === 200, patience);
});
