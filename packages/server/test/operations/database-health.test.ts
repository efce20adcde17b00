import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { type TestServer, testServer } from "../server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await testServer();
});
afterAll(() => server.stop());

test("fails fast while no connection is free, and recovers when one is", async () => {
  const scrape = () => server.call("GET", `${server.origin}/metrics`);
  expect((await scrape()).text).toMatch(/^outrider_database_up 1$/m);
  const { body: run } = await server.call("POST", "/agent/run", { body: { prompt: "SAY: a" } });
  const release = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const holder = server.db.begin(async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    await tx`lock table runs in access exclusive mode`;
    locked.resolve();
    await release.promise;
  });
  await locked.promise;
  const read = () => server.call("GET", `/agent/runs/${run.run_id}`);
  // Each waits for the lock until the timeout, on a connection with more statements queued.
  const stuck = Array.from({ length: 200 }, read);
  const ready = () => server.call("GET", `${server.origin}/readyz`, { key: null });
  const refused = await vi.waitUntil(async () => {
    const reply = await server.call("GET", "/me");
    return reply.status === 503 && reply.headers.get("retry-after") === "2" ? reply : undefined;
  }, waitOptions);
  expect(refused.body).toMatchObject({
    error_code: "resource_unavailable",
    retryable: true,
    detail: "The database is not responding. Try again in a moment.",
  });
  expect(refused.headers.get("retry-after")).toBe("2");
  expect((await ready()).status).toBe(503);
  // Metrics must still work while other requests fail.
  const blind = (await scrape()).text;
  expect(blind).toMatch(/^outrider_database_up 0$/m);
  expect(Number(/^outrider_database_ping_seconds (\S+)$/m.exec(blind)?.[1])).toBeGreaterThan(3);
  expect((await server.call("GET", `${server.origin}/healthz`, { key: null })).status).toBe(200);
  release.resolve();
  await holder;
  const statuses = new Set((await Promise.all(stuck)).map(({ status }) => status));
  expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([]);
  await vi.waitUntil(
    async () => (await read()).status === 200 && (await ready()).status === 200,
    waitOptions,
  );
});
