import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "./server.ts";

let server: TestServer;

beforeAll(async () => {
  server = await testServer();
});
afterAll(() => server.stop());

const post = (path: string, key: string, body?: unknown, options: object = {}) =>
  server.call("POST", path, { body, ...options, headers: { "idempotency-key": key } });
const runs = async () => Number((await server.db`select count(*) from runs`)[0]?.count);

describe("an idempotency key", () => {
  test("replays the first answer to the same body, and does nothing again", async () => {
    const key = randomUUID();
    const first = await post("/agent/run", key, { prompt: "once" });
    const before = await runs();
    const second = await post("/agent/run", key, { prompt: "once" });
    expect([second.status, second.body]).toEqual([200, first.body]);
    expect(second.headers.get("location")).toBe(first.headers.get("location"));
    expect(first.headers.get("idempotent-replayed")).toBeNull();
    expect(second.headers.get("idempotent-replayed")).toBe("true");
    expect(await runs()).toBe(before);
  });

  test("with another body is refused", async () => {
    const key = randomUUID();
    await post("/agent/run", key, { prompt: "one" });
    const { status, body } = await post("/agent/run", key, { prompt: "two" });
    expect([status, body.error_code, body.retryable]).toEqual([422, "idempotency_mismatch", false]);
  });

  test("sent fifty times at once makes one run", async () => {
    const key = randomUUID();
    const before = await runs();
    const replies = await Promise.all(
      Array.from({ length: 50 }, () => post("/agent/run", key, { prompt: "race" })),
    );
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(replies.map(({ body }) => body.run_id)).size).toBe(1);
    expect(await runs()).toBe(before + 1);
  });

  test("belongs to its owner and its path", async () => {
    const key = randomUUID();
    const other = await server.person("idempotent@example.com");
    const mine = await post("/agent/run", key, { prompt: "same" });
    const theirs = await post("/agent/run", key, { prompt: "same" }, { key: other });
    const alias = await post("/agent/runs", key, { prompt: "same" });
    expect(new Set([mine, theirs, alias].map(({ body }) => body.run_id)).size).toBe(3);
  });

  test("is shared by all keys of its owner", async () => {
    const key = randomUUID();
    const second = (await server.call("POST", "/keys", { body: { name: "two", type: "personal" } })).body.key;
    const first = await post("/agent/run", key, { prompt: "shared" });
    expect((await post("/agent/run", key, { prompt: "shared" }, { key: second })).body).toEqual(first.body);
  });

  test("keeps refusals too, with the effect undone", async () => {
    const key = randomUUID();
    const bad = { prompt: "x", config: { environment_id: randomUUID() } };
    const first = await post("/agent/run", key, bad);
    const second = await post("/agent/run", key, bad);
    expect([first.status, second.status]).toEqual([400, 400]);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
    expect((await post("/agent/run", key, { prompt: "x" })).status).toBe(422);
  });

  test("works on every POST: a repeated follow-up is one follow-up", async () => {
    const run = (await post("/agent/run", randomUUID(), { prompt: "x" })).body.run_id;
    const key = randomUUID();
    const path = `/agent/runs/${run}/followups`;
    const [first, second] = [
      await post(path, key, { message: "m" }),
      await post(path, key, { message: "m" }),
    ];
    expect(second.body).toEqual(first.body);
    expect((await server.call("GET", path)).body.followups).toHaveLength(1);
  });

  test("replays a made key without the raw value", async () => {
    const key = randomUUID();
    const first = await post("/keys", key, { name: "k", type: "personal" });
    const second = await post("/keys", key, { name: "k", type: "personal" });
    expect(first.body.key).toMatch(/^orp_/);
    const { key: raw, ...rest } = first.body;
    expect(second.body).toEqual(rest);
    const [row] = await server.db`select count(*)::int from idempotency_keys where body like ${`%${raw}%`}`;
    expect(row?.count).toBe(0);
  });

  test("is free again after 24 hours", async () => {
    const key = randomUUID();
    const first = await post("/agent/run", key, { prompt: "old" });
    await server.db`update idempotency_keys set created_at = created_at - interval '24 hours' where key = ${key}`;
    const second = await post("/agent/run", key, { prompt: "new" });
    expect(second.status).toBe(200);
    expect(second.body.run_id).not.toBe(first.body.run_id);
  });

  test("whose first request is still at work answers 409, retryable, after five seconds", async () => {
    const key = randomUUID();
    const first = await post("/agent/run", key, { prompt: "slow" });
    await server.db.begin(async (tx) => {
      await tx`update idempotency_keys set status = status where key = ${key}`;
      const { status, body, headers } = await post("/agent/run", key, { prompt: "slow" });
      expect([status, body.error_code, headers.get("x-should-retry")]).toEqual([
        409,
        "idempotency_in_flight",
        "true",
      ]);
    });
    expect((await post("/agent/run", key, { prompt: "slow" })).body).toEqual(first.body);
  });
});
