import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { readConfig } from "../../src/config.ts";
import { type Server, startServer } from "../../src/main.ts";
import { type Reply, type TestServer, testServer } from "../server.ts";

let server: TestServer;
/** Another server on the same database. */
let other: Server;
let member: string;
let workerKey: string;

beforeAll(async () => {
  server = await testServer();
  other = await startServer(
    readConfig(
      {},
      {
        DATABASE_URL: server.databaseUrl,
        OUTRIDER_DATA_DIR: server.dataDir,
        OUTRIDER_PORT: "0",
        OUTRIDER_LOG_LEVEL: "silent",
      },
    ),
  );
  member = await server.user("m@x.test");
  workerKey = (await server.call("POST", "/keys", { body: { name: "w", type: "worker" } })).body.key;
});
afterEach(async () => {
  await maintenance({});
  await within(() => create(elsewhere("/agent/run")), 200);
});
afterAll(async () => {
  await other.stop();
  await server.stop();
});

const maintenance = (body: object) => server.call("PUT", "/installation/maintenance", { body });
const elsewhere = (path: string) => `${other.origin}/api/v1${path}`;
const create = (at = "/agent/run", body: object = {}) =>
  server.call("POST", at, { body: { prompt: "SAY: hello", ...body } });

/** Waits until a call has the status. A change takes effect within a second; the rest is for busy machines. */
async function within<T extends Reply>(look: () => Promise<T>, status: number, ms = 40_000): Promise<T> {
  for (const deadline = Date.now() + ms; ; await pause(50)) {
    const seen = await look();
    if (seen.status === status) return seen;
    if (Date.now() > deadline) throw new Error(`It still answers ${seen.status}: ${seen.text}`);
  }
}

async function claim(at: string, request_id = randomUUID()) {
  const worker = { worker_id: randomUUID(), name: "w", version: "0", slots: 4 };
  const body = { request_id, worker, free: 4, wait_ms: 0 };
  return (await server.call("POST", at, { key: workerKey, body })).body.executions as { run_id: string }[];
}

async function state(runId: string) {
  return (await server.call("GET", `/agent/runs/${runId}`)).body.state;
}

describe("with admission paused", () => {
  test("rejects new runs on every server, with the operator's message and a retry time", async () => {
    await maintenance({ admission: "paused", message: "Back at noon." });
    for (const at of ["/agent/run", elsewhere("/agent/run")]) {
      const { body, headers } = await within(() => create(at), 503);
      expect(body).toMatchObject({ error_code: "resource_unavailable", retryable: true });
      expect(body.detail).toBe(
        "The service does not accept new runs. Message from the operator: Back at noon.",
      );
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(1);
    }
    const metrics = await server.call("GET", `${server.origin}/metrics`);
    expect(metrics.text).toMatch(/^outrider_admission_open 0$/m);
    await maintenance({});
    for (const at of ["/agent/run", elsewhere("/agent/run")]) await within(() => create(at), 200);
  });

  test("rejects follow-ups that start a turn, and accepts follow-ups to a queued run", async () => {
    const [ended, waiting] = [(await create()).body.run_id, (await create()).body.run_id];
    await server.call("POST", `/agent/runs/${ended}/cancel`);
    await maintenance({ admission: "paused" });
    const send = (runId: string) =>
      server.call("POST", `/agent/runs/${runId}/followups`, { body: { message: "SAY: more" } });
    expect((await send(ended)).status).toBe(503);
    expect(await state(ended)).toBe("CANCELLED");
    expect((await send(waiting)).status).toBe(200);
  });

  test("queued runs continue, and wait if the queue is paused too", async () => {
    const { run_id } = (await create()).body;
    await maintenance({ admission: "paused", queue: "paused" });
    await within(() => create(elsewhere("/agent/run")), 503);
    expect(await claim("/worker/claim")).toEqual([]);
    expect(await claim(elsewhere("/worker/claim"))).toEqual([]);
    await maintenance({ admission: "paused" });
    const claimed: string[] = [];
    for (const deadline = Date.now() + 40_000; !claimed.includes(run_id) && Date.now() < deadline; )
      claimed.push(...(await claim(elsewhere("/worker/claim"))).map((one) => one.run_id));
    expect(claimed).toContain(run_id);
  });
});

test("with only the queue paused, new runs wait, even if a claim waits for one", async () => {
  await server.call("POST", "/installation/maintenance/cancel", { body: { dry_run: false } });
  await maintenance({ queue: "paused" });
  const worker = { worker_id: randomUUID(), name: "w", version: "0", slots: 4 };
  const body = { request_id: randomUUID(), worker, free: 4, wait_ms: 1_500 };
  const waiting = server.call("POST", "/worker/claim", { key: workerKey, body });
  const { run_id } = (await create()).body;
  expect((await waiting).body.executions).toEqual([]);
  expect(await state(run_id)).toBe("QUEUED");
});

describe("in read-only mode", () => {
  test("rejects writes, serves reads, and maintenance can be ended", async () => {
    const { run_id } = (await create()).body;
    await maintenance({ mode: "read_only", message: "We move house." });
    await within(() => create(elsewhere("/agent/run")), 503);
    const refused = await server.call("POST", `/agent/runs/${run_id}/cancel`);
    expect(refused.status).toBe(503);
    expect(refused.body.detail).toBe("The service is read-only. Message from the operator: We move house.");
    expect((await server.call("PUT", "/agent/secrets/NAME", { body: { value: "12345678" } })).status).toBe(
      503,
    );
    expect((await server.call("DELETE", `/agent/runs/${run_id}`)).status).toBe(503);
    expect((await server.call("GET", `/agent/runs/${run_id}`)).status).toBe(200);
    expect((await server.call("GET", "/agent/runs")).status).toBe(200);
    expect(await claim("/worker/claim")).toEqual([]);
    expect((await server.call("GET", "/installation/maintenance")).body).toMatchObject({
      mode: "read_only",
      changed_by: { type: "user" },
    });
    expect((await maintenance({})).body).toMatchObject({ admission: "open", queue: "open", mode: "normal" });
    expect((await server.call("POST", `/agent/runs/${run_id}/cancel`)).status).toBe(200);
  });

  test("active runs finish", async () => {
    const { run_id } = (await create(undefined, { priority: 10 })).body;
    const [assignment] = (await claim("/worker/claim")).filter((one) => one.run_id === run_id) as {
      run_id: string;
      execution_id: string;
    }[];
    await maintenance({ mode: "read_only" });
    expect((await create()).status).toBe(503);
    const usage = {
      ...{ input_tokens: 0, cached_input_tokens: 0, output_tokens: 0 },
      ...{ cost_usd: 0, steps: 1, run_seconds: 0 },
    };
    const outcome = { type: "succeeded", text: "done" };
    const ended = await server.call("POST", `/worker/executions/${assignment?.execution_id}/finish`, {
      key: workerKey,
      body: { run_id, batch: 1, events: [], usage, outcome },
    });
    expect(ended.text).not.toContain("error_code");
    expect(await state(run_id)).toBe("SUCCEEDED");
  });

  test("a restarted server is read-only from its first response on", async () => {
    await maintenance({ mode: "read_only" });
    const settings = {
      ...{ DATABASE_URL: server.databaseUrl, OUTRIDER_DATA_DIR: server.dataDir },
      ...{ OUTRIDER_PORT: "0", OUTRIDER_LOG_LEVEL: "silent" },
    };
    const third = await startServer(readConfig({}, settings));
    try {
      expect((await create(`${third.origin}/api/v1/agent/run`)).status).toBe(503);
    } finally {
      await third.stop();
    }
  });
});

describe("cancelling by filter", () => {
  const cancel = (body: object, key?: string) =>
    server.call("POST", "/installation/maintenance/cancel", { body, ...(key ? { key } : {}) });

  test("a dry run only counts; then only matching runs are cancelled", async () => {
    const config = { name: "nightly" };
    const mine = await Promise.all(
      [1, 2, 3].map(async () => (await create(undefined, { config })).body.run_id),
    );
    const { run_id: stays } = (await create(undefined, { config: { name: "daily" } })).body;
    const filter = { config_name: ["nightly"] };
    expect((await cancel({ filter, dry_run: true })).body).toEqual({ cancelled: 0, remaining: 3 });
    expect(await state(mine[0])).toBe("QUEUED");
    expect((await cancel({ filter, dry_run: false })).body).toEqual({ cancelled: 3, remaining: 0 });
    expect(await Promise.all(mine.map(state))).toEqual(["CANCELLED", "CANCELLED", "CANCELLED"]);
    expect(await state(stays)).toBe("QUEUED");
    const { events } = (await server.call("GET", `/agent/runs/${mine[0]}/events`)).body;
    expect(events.at(-1)).toMatchObject({ type: "run.cancelled", data: { by: { type: "user" } } });
    expect((await cancel({ filter, dry_run: false })).body).toEqual({ cancelled: 0, remaining: 0 });
  });

  test("filters by search, time and metadata match the list", async () => {
    await create(undefined, { title: "flamingo census", metadata: { team: "birds" } });
    const count = async (filter: object) => (await cancel({ filter, dry_run: true })).body.remaining;
    expect(await count({ q: "flamingo" })).toBe(1);
    expect(await count({ q: "flamingo", state: ["BLOCKED"] })).toBe(0);
    expect(await count({ metadata: { team: "birds" }, created_after: "2020-01-01" })).toBe(1);
    expect(await count({ q: "flamingo", created_before: "2020-01-01" })).toBe(0);
  });

  test("one call cancels a limited number and returns how many remain", async () => {
    await server.db`
      insert into runs (run_id, title, prompt, state, created_at, updated_at, source, creator_type, creator_uid, key_id,
        config_name, named_by_skill, model_id, agent_config, priority, trace_id)
      select gen_random_uuid(), title, prompt, 'QUEUED', created_at, updated_at, source, creator_type, creator_uid, key_id,
        'many', named_by_skill, model_id, agent_config, priority, trace_id
      from (select * from runs limit 1) r, generate_series(1, 205)`;
    await server.db`
      insert into run_state (run_id, state, phase, last_seq, owner_uid, key_id, priority, queued_at)
      select run_id, 'QUEUED', 'queued', 0, creator_uid, key_id, 0, created_at from runs where config_name = 'many'`;
    const filter = { config_name: ["many"], state: ["QUEUED"] };
    expect((await cancel({ filter, dry_run: false })).body).toEqual({ cancelled: 200, remaining: 5 });
    expect((await cancel({ filter, dry_run: false })).body).toEqual({ cancelled: 5, remaining: 0 });
  });

  test("rejects a call without dry_run or with a final state", async () => {
    expect((await cancel({})).body.errors).toMatchObject([{ pointer: "/dry_run" }]);
    expect((await cancel({ dry_run: true, filter: { state: ["FAILED"] } })).status).toBe(400);
    expect((await cancel({ dry_run: true, filter: { limit: 3 } })).status).toBe(400);
  });

  test("only admins can change maintenance", async () => {
    expect((await cancel({ dry_run: true }, member)).status).toBe(403);
    expect((await server.call("PUT", "/installation/maintenance", { key: member, body: {} })).status).toBe(
      403,
    );
    expect((await server.call("GET", "/installation/maintenance", { key: member })).status).toBe(403);
  });
});
