import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WorkerAccess } from "../../src/engine/dispatch/worker-access.ts";
import { attempt, someUsage as usage } from "../engine.ts";
import { type TestServer, testServer } from "../server.ts";

let server: TestServer;
let keys: { first: string; second: string };
let keyIds: { first: string; second: string };

beforeAll(async () => {
  server = await testServer({ OUTRIDER_LEASE_SECONDS: "600" });
  const workerKey = async () =>
    (await server.call("POST", "/keys", { body: { name: "w", type: "worker" } })).body as {
      key: string;
      key_id: string;
    };
  const [first, second] = [await workerKey(), await workerKey()];
  keys = { first: first.key, second: second.key };
  keyIds = { first: first.key_id, second: second.key_id };
});
afterAll(() => server.stop());

const newWorker = () => ({ worker_id: randomUUID(), name: "test", version: "0", slots: 100 });
const call = (path: string, body: object | undefined, key: string, method = "POST") =>
  server.call(method, `/worker${path}`, { key, ...(body ? { body } : {}) });

async function claimed(worker = newWorker()) {
  const request = { request_id: randomUUID(), worker, free: 100, wait_ms: 0 };
  const attachments = [{ file_name: "a.txt", mime_type: "text/plain", data: "aGk=" }];
  const body = { prompt: "SAY: hello", attachments };
  const { run_id } = (await server.call("POST", "/agent/run", { body })).body;
  const { executions } = (await call("/claim", request, keys.first)).body;
  const execution = executions.find((one: { run_id: string }) => one.run_id === run_id);
  const execution_id: string = execution.execution_id;
  return { run_id: run_id as string, execution_id, path: `/executions/${execution_id}`, worker, request };
}

const types = async (run: string) =>
  (await server.call("GET", `/agent/runs/${run}/events`)).body.events.map(
    ({ type }: { type: string }) => type,
  );

describe("an execution", () => {
  test.each([
    ["report", { batch: 1, events: [{ type: "message.agent", data: { text: "forged" } }], deliver: true }],
    ["finish", { batch: 1, events: [], usage, outcome: { type: "succeeded", text: "forged" } }],
    ["close", { usage }],
    ["release", {}],
    ["interrupt", { suspicion: "certain" }],
    ["delta", { text: "forged" }],
    ["reserve", { reservation_id: randomUUID(), cost_usd: 0, usd: 1 }],
    ["settle", { reservation_id: randomUUID(), cost_usd: 5 }],
  ])("does not accept a %s from another worker key", async (operation, body) => {
    const { run_id, path } = await claimed();
    const send = (key: string) => call(`${path}/${operation}`, { run_id, ...body }, key);
    expect(await send(keys.second)).toMatchObject({
      status: 404,
      body: { error_code: "resource_not_found" },
    });
    expect(await types(run_id)).toEqual(["run.created", "run.claimed"]);
    expect((await server.call("GET", `/agent/runs/${run_id}`)).body.state).toBe("INPROGRESS");
    expect((await send(keys.first)).status).toBeLessThan(300);
  });

  test("does not show its history or files to another worker key", async () => {
    const { run_id, path } = await claimed();
    const [attachment] = await server.db`select attachment_id from attachments where run_id = ${run_id}`;
    const artifact_id = randomUUID();
    const content = "an artifact";
    const sha256 = createHash("sha256").update(content).digest("hex");
    await fetch(`${server.base}/worker/blobs/${sha256}`, {
      method: "PUT",
      headers: { authorization: `Bearer ${keys.first}` },
      body: content,
    });
    const kind = { type: "FILE", name: "a.txt", mime_type: "text/plain", size_bytes: content.length };
    const artifacts = [{ artifact_id, ...kind, sha256 }];
    await call(`${path}/report`, { run_id, batch: 1, events: [], deliver: false, artifacts }, keys.first);
    const files = ["/events", `/attachments/${attachment?.attachment_id}`, `/artifacts/${artifact_id}`];
    for (const file of files) {
      expect((await call(path + file, undefined, keys.second, "GET")).status).toBe(404);
      expect((await call(path + file, undefined, keys.first, "GET")).status).toBe(200);
    }
  });

  test("does not keep its lease because of another worker key's heartbeats", async () => {
    const { run_id, execution_id, worker } = await claimed();
    const executions = [{ run_id, execution_id }];
    const beat = (who: ReturnType<typeof newWorker>, key: string) =>
      call("/heartbeat", { worker: who, executions }, key);
    expect((await beat(newWorker(), keys.second)).body.held).toEqual([]);
    expect((await beat(worker, keys.second)).status).toBe(403);
    expect((await beat(worker, keys.first)).body.held).toEqual([execution_id]);
  });

  test("accepts only requests for its own run", async () => {
    const [mine, foreign] = [await claimed(), await claimed()];
    const delta = { run_id: foreign.run_id, text: "forged" };
    expect((await call(`${mine.path}/delta`, delta, keys.first)).status).toBe(404);
    const settle = { run_id: foreign.run_id, reservation_id: randomUUID(), cost_usd: 1 };
    expect((await call(`${mine.path}/settle`, settle, keys.first)).status).toBe(404);
  });
});

describe("a worker", () => {
  test("cannot be impersonated with another worker key", async () => {
    const { execution_id, worker, request } = await claimed();
    expect((await call("/claim", request, keys.second)).status).toBe(403);
    const signals = await call(`/signals?worker_id=${worker.worker_id}`, undefined, keys.second, "GET");
    expect(signals.status).toBe(403);
    const repeated = await call("/claim", { ...request, worker: newWorker(), free: 0 }, keys.second);
    expect(repeated.body.executions).toEqual([]);
    expect((await call("/claim", request, keys.first)).body.executions).toMatchObject([{ execution_id }]);
  });

  test("that only the previous version has seen belongs to the first key that uses it", async () => {
    const { db } = server;
    const { execution_id: executionId, worker } = await claimed();
    await db`update workers set key_id = null where worker_id = ${worker.worker_id}`;
    const access = new WorkerAccess();
    expect(await attempt(() => access.requireExecution(db, keyIds.first, { executionId }))).toEqual({});
    expect(await attempt(() => access.register(db, keyIds.first, worker))).toEqual({});
    const refused = { refused: "not_authorized" };
    expect(await attempt(() => access.register(db, keyIds.second, worker))).toEqual(refused);
    expect(await attempt(() => access.requireWorker(db, keyIds.second, worker.worker_id))).toEqual(refused);
    expect(await attempt(() => access.requireExecution(db, keyIds.second, { executionId }))).toEqual({
      refused: "resource_not_found",
    });
    expect(await attempt(() => access.requireExecution(db, keyIds.first, { executionId }))).toEqual({});
  });
});

describe("a build", () => {
  test("does not accept reports from another worker key, even with its token", async () => {
    const body = { name: "site", setup_commands: ["make"] };
    const { environment_id } = (await server.call("POST", "/agent/environments", { body })).body;
    await server.call("POST", `/agent/environments/${environment_id}/builds`);
    const worker = newWorker();
    const request = { request_id: randomUUID(), worker, free: 100, wait_ms: 0 };
    const [{ build_id, token }] = (await call("/claim", request, keys.first)).body.builds;
    const report = { token, batch: 1, events: [] };
    const outcome = { type: "failed", error_code: "environment_setup_failed", message: "forged" };
    expect((await call(`/builds/${build_id}/report`, report, keys.second)).status).toBe(404);
    expect((await call(`/builds/${build_id}/finish`, { ...report, outcome }, keys.second)).status).toBe(404);
    expect((await call(`/builds/${build_id}/report`, report, keys.first)).status).toBe(204);
    expect((await call(`/builds/${build_id}/finish`, { ...report, outcome }, keys.first)).status).toBe(204);
  });
});

describe("the fencing token", () => {
  /** Returns everything that members and readers of a share link can read about a run. */
  async function readAll(run_id: string): Promise<string> {
    const { link } = (await server.call("POST", `/agent/runs/${run_id}/share`, { body: {} })).body;
    const texts = await Promise.all([
      server.call("GET", `/agent/runs/${run_id}`),
      server.call("GET", `/agent/runs/${run_id}/events`),
      server.call("GET", `/agent/runs/${run_id}/followups`),
      server.call("GET", "/agent/runs?limit=500"),
      server.call("GET", "/workers"),
      ...["text/markdown", "application/json", "application/x-ndjson"].flatMap((accept) => [
        server.call("GET", `/agent/runs/${run_id}/transcript`, { headers: { accept } }),
        server.call("GET", `${server.origin}/runs/${run_id}`, { headers: { accept } }),
        server.call("GET", link, { key: null, headers: { accept } }),
      ]),
      readStream(`/agent/runs/${run_id}/events`),
    ]);
    for (const reply of texts) expect(reply.status).toBe(200);
    return texts.map(({ text }) => text).join("\n");
  }

  /** Reads a stream that ends, because its run has ended. */
  const readStream = (path: string) => server.call("GET", path, { headers: { accept: "text/event-stream" } });

  const finish = async ({ run_id, path }: { run_id: string; path: string }) => {
    const outcome = { type: "succeeded", text: "done" };
    const body = { run_id, batch: 1, events: [], usage, outcome };
    expect((await call(`${path}/finish`, body, keys.first)).status).toBe(200);
  };

  test("is not readable, not even after the turn", async () => {
    const execution = await claimed();
    await finish(execution);
    const text = await readAll(execution.run_id);
    expect(text).toContain("run.claimed");
    expect(text).not.toContain(execution.execution_id);
    const [stored] = await server.db`
      select data from events where run_id = ${execution.run_id} and type = 'run.claimed'`;
    expect(stored?.data).toEqual({ worker: "test" });
  });

  test("is not readable in events of earlier versions either", async () => {
    const execution = await claimed();
    const { run_id, execution_id } = execution;
    await server.db`
      update events set data = data || ${server.db.json({ execution_id })}
      where run_id = ${run_id} and type = 'run.claimed'`;
    await finish(execution);
    const text = await readAll(run_id);
    expect(text).toContain('"worker":"test"');
    expect(text).not.toContain(execution_id);

    await server.call("POST", `/agent/runs/${run_id}/followups`, { body: { message: "SAY: more" } });
    const next = { request_id: randomUUID(), worker: newWorker(), free: 100, wait_ms: 0 };
    const { executions } = (await call("/claim", next, keys.first)).body;
    const work = executions.find((one: { run_id: string }) => one.run_id === run_id);
    expect(work.history.length).toBeGreaterThan(3);
    expect(JSON.stringify(work.history)).not.toContain(execution_id);
  });
});
