import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "../server.ts";

let server: TestServer;

beforeAll(async () => {
  server = await testServer();
});
afterAll(() => server.stop());

const post = (path: string, key: string, body?: unknown, options: object = {}) =>
  server.call("POST", path, { body, ...options, headers: { "idempotency-key": key } });
const runs = async () => Number((await server.db`select count(*) from runs`)[0]?.count);

describe("an idempotency key", () => {
  test("replays the first response for the same body without repeating the effect", async () => {
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

  test("with a different body is rejected", async () => {
    const key = randomUUID();
    await post("/agent/run", key, { prompt: "one" });
    const { status, body } = await post("/agent/run", key, { prompt: "two" });
    expect([status, body.error_code, body.retryable]).toEqual([422, "idempotency_mismatch", false]);
  });

  test("sent fifty times concurrently creates one run", async () => {
    const key = randomUUID();
    const before = await runs();
    const replies = await Promise.all(
      Array.from({ length: 50 }, () => post("/agent/run", key, { prompt: "race" })),
    );
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(replies.map(({ body }) => body.run_id)).size).toBe(1);
    expect(await runs()).toBe(before + 1);
  });

  test("is scoped to its owner and its path", async () => {
    const key = randomUUID();
    const other = await server.user("idempotent@example.com");
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

  test("also stores error responses, with the effect rolled back", async () => {
    const key = randomUUID();
    const run = (await post("/agent/run", randomUUID(), { prompt: "x" })).body.run_id;
    await server.db`update run_state set state = 'FAILED' where run_id = ${run}`;
    const cancel = () => post(`/agent/runs/${run}/cancel`, key);
    const [first, second] = [await cancel(), await cancel()];
    expect([first.status, second.status]).toEqual([409, 409]);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
    expect((await post(`/agent/runs/${run}/cancel`, key, { more: 1 })).status).toBe(422);
  });

  test.each([
    ["an invalid field", { prompt: "x", title: 7 }],
    ["an unknown environment", { prompt: "x", config: { environment_id: randomUUID() } }],
    ["an unknown model", { prompt: "x", config: { model_id: "nobody/nothing" } }],
    ["a body that is too large", { prompt: "x", metadata: { a: "y".repeat(1_100_000) } }],
  ])("is not used up by a request that is rejected for %s", async (_, bad) => {
    const key = randomUUID();
    for (const _attempt of [1, 2]) {
      const { status, headers } = await post("/agent/run", key, bad);
      expect([400, 413]).toContain(status);
      expect(headers.get("idempotent-replayed")).toBeNull();
    }
    const corrected = await post("/agent/run", key, { prompt: "x" });
    expect([corrected.status, corrected.headers.get("idempotent-replayed")]).toEqual([200, null]);
    expect((await post("/agent/run", key, bad)).status).toBe(422);
  });

  test("compares bodies as JSON values, not as text", async () => {
    const key = randomUUID();
    const first = await post(
      "/agent/run",
      key,
      '{"prompt":"é","limits":{"max_steps":1,"timeout_minutes":2}}',
    );
    const second = await post(
      "/agent/run",
      key,
      '{ "limits": {"timeout_minutes": 2.0, "max_steps": 1e0},\n "prompt": "\\u00e9" }',
    );
    expect([second.status, second.body]).toEqual([200, first.body]);
    const list = (items: string) => post("/agent/run", key, `{"prompt":"é","attachments":[${items}]}`);
    expect((await list("")).status).toBe(422);
  });

  test("makes no difference between no body and an empty one", async () => {
    const run = (await post("/agent/run", randomUUID(), { prompt: "x" })).body.run_id;
    const key = randomUUID();
    const first = await post(`/agent/runs/${run}/cancel`, key);
    const second = await post(`/agent/runs/${run}/cancel`, key, {});
    expect([first.status, second.status, second.body]).toEqual([200, 200, first.body]);
  });

  test("works on every POST: a repeated follow-up is sent once", async () => {
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

  test("replays the creation of a key without the key itself", async () => {
    const key = randomUUID();
    const first = await post("/keys", key, { name: "k", type: "personal" });
    const second = await post("/keys", key, { name: "k", type: "personal" });
    expect(first.body.key).toMatch(/^orp_/);
    const { key: raw, ...rest } = first.body;
    expect(second.body).toEqual(rest);
    const [row] = await server.db`select count(*)::int from idempotency_keys where body like ${`%${raw}%`}`;
    expect(row?.count).toBe(0);
  });

  test("can be reused after 24 hours", async () => {
    const key = randomUUID();
    const first = await post("/agent/run", key, { prompt: "old" });
    await server.db`update idempotency_keys set created_at = created_at - interval '24 hours' where key = ${key}`;
    const second = await post("/agent/run", key, { prompt: "new" });
    expect(second.status).toBe(200);
    expect(second.body.run_id).not.toBe(first.body.run_id);
  });

  test("whose first request is in progress returns a retryable 409 after five seconds", async () => {
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
