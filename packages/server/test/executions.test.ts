import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "./server.ts";

let server: TestServer;
let workerKey: string;

beforeAll(async () => {
  server = await testServer();
  workerKey = (await server.call("POST", "/keys", { body: { name: "w", type: "worker" } })).body.key;
});
afterAll(() => server.stop());

const create = async (body: object = {}) =>
  (await server.call("POST", "/agent/run", { body: { prompt: "SAY: hello", ...body } })).body
    .run_id as string;
const get = async (run: string) => (await server.call("GET", `/agent/runs/${run}`)).body;
const events = async (run: string) => (await server.call("GET", `/agent/runs/${run}/events`)).body.events;
const types = async (run: string) => (await events(run)).map(({ type }: { type: string }) => type);

const worker = { worker_id: randomUUID(), name: "test", version: "0", slots: 100 };
const usage = {
  input_tokens: 1,
  cached_input_tokens: 0,
  output_tokens: 2,
  cost_usd: 0,
  steps: 1,
  run_seconds: 0,
};

const call = (path: string, body: object) => server.call("POST", `/worker${path}`, { body, key: workerKey });
const claim = async (free = 100, request_id = randomUUID()) =>
  (await call("/claim", { request_id, worker, free, wait_ms: 0 })).body.executions;

async function claimed(body: object = {}) {
  const run_id = await create(body);
  const execution = (await claim()).find((one: { run_id: string }) => one.run_id === run_id);
  return { run_id, execution, path: `/executions/${execution.execution_id}` };
}

describe("a claim", () => {
  test("takes what waits, and gives all that is needed", async () => {
    const { run_id, execution } = await claimed({ limits: { max_steps: 3 } });
    expect(execution).toMatchObject({
      run_id,
      turn: 1,
      attempt: 1,
      agent_config: { model_id: "scripted" },
      limits: { max_steps: 3, timeout_ms: expect.any(Number) },
      history: [{ type: "run.created" }, { type: "run.claimed" }],
    });
    const run = await get(run_id);
    expect(run).toMatchObject({ state: "INPROGRESS", phase: "preparing", attempts: 1 });
    expect(run.session_link).toBe(`${server.origin}/runs/${run_id}`);
    expect(await types(run_id)).toEqual(["run.created", "run.claimed"]);
  });

  test("without room gets what it took before, and nothing new", async () => {
    await claim();
    const [first, request] = [await create(), randomUUID()];
    expect(await claim(1, request)).toMatchObject([{ run_id: first }]);
    await create();
    expect(await claim(0, request)).toMatchObject([{ run_id: first }]);
    expect(await claim(0)).toEqual([]);
    await claim();
  });

  test("that is repeated gets the same and nothing more", async () => {
    await create();
    const request = randomUUID();
    const first = await claim(1, request);
    await create();
    expect(await claim(1, request)).toMatchObject([{ execution_id: first[0].execution_id }]);
  });
});

describe("a report", () => {
  test("is written once, however often it is sent", async () => {
    const { run_id, path } = await claimed();
    const body = {
      run_id,
      batch: 1,
      events: [{ type: "message.agent", data: { text: "hi" } }],
      deliver: false,
    };
    const replies = [await call(`${path}/report`, body), await call(`${path}/report`, body)];
    expect(replies.map((reply) => [reply.status, reply.body])).toEqual([
      [200, { last_seq: 3, followups: [] }],
      [200, { last_seq: 3, followups: [] }],
    ]);
    expect(await types(run_id)).toEqual(["run.created", "run.claimed", "message.agent"]);
  });

  test("of a cancelled run is refused", async () => {
    const { run_id, path } = await claimed();
    await server.call("POST", `/agent/runs/${run_id}/cancel`);
    const { status } = await call(`${path}/report`, { run_id, batch: 1, events: [], deliver: false });
    expect(status).toBe(409);
  });

  test("delivers follow-ups, once and in order", async () => {
    const { run_id, path } = await claimed();
    for (const message of ["one", "two"]) {
      await server.call("POST", `/agent/runs/${run_id}/followups`, { body: { message } });
    }
    await server.call("POST", `/agent/runs/${run_id}/followups`, {
      body: { message: "late", mode: "queue" },
    });
    const first = await call(`${path}/report`, { run_id, batch: 1, events: [], deliver: true });
    const again = await call(`${path}/report`, { run_id, batch: 1, events: [], deliver: true });
    expect(first.body.followups).toMatchObject([
      { message: "one", seq: 3 },
      { message: "two", seq: 4 },
    ]);
    expect(again.body).toEqual(first.body);
  });
});

describe("the end of a turn", () => {
  const succeeded = { type: "succeeded", text: "done" };

  test("makes the run final", async () => {
    const { run_id, path } = await claimed();
    const body = { run_id, batch: 1, events: [], usage, outcome: succeeded };
    for (let round = 0; round < 2; round++) {
      expect((await call(`${path}/finish`, body)).body).toEqual({ ended: true, followups: [] });
    }
    expect(await get(run_id)).toMatchObject({ state: "SUCCEEDED", phase: "done", usage });
    expect(await types(run_id)).toEqual(["run.created", "run.claimed", "run.succeeded"]);
  });

  test("waits for follow-ups that came in between", async () => {
    const { run_id, path } = await claimed();
    await server.call("POST", `/agent/runs/${run_id}/followups`, {
      body: { message: "wait", mode: "queue" },
    });
    const body = { run_id, batch: 1, events: [], usage, outcome: succeeded };
    const first = await call(`${path}/finish`, body);
    expect(first.body).toMatchObject({ ended: false, followups: [{ message: "wait" }] });
    expect((await call(`${path}/finish`, body)).body).toEqual(first.body);
    expect((await call(`${path}/finish`, { ...body, batch: 2 })).body.ended).toBe(true);
  });

  test("as a question blocks the run, and an answer continues it", async () => {
    const { run_id, path } = await claimed();
    const outcome = { type: "blocked", question: "Which one?" };
    await call(`${path}/finish`, { run_id, batch: 1, events: [], usage, outcome });
    expect(await get(run_id)).toMatchObject({ state: "BLOCKED", status_message: { message: "Which one?" } });
    await server.call("POST", `/agent/runs/${run_id}/followups`, { body: { message: "that one" } });
    const [next] = (await claim()).filter((one: { run_id: string }) => one.run_id === run_id);
    expect(next).toMatchObject({ turn: 2, attempt: 1 });
    expect(next.history.at(-1)).toMatchObject({ type: "message.user", data: { text: "that one" } });
  });
});

test("a run that is deleted leaves no event and no execution behind", async () => {
  const { run_id, path } = await claimed();
  const outcome = { type: "succeeded", text: "done" };
  await call(`${path}/finish`, { run_id, batch: 1, events: [], usage, outcome });
  const left = async () => {
    const [row] = await server.db`
      select (select count(*)::int from events where run_id = ${run_id}) as events,
        (select count(*)::int from executions where run_id = ${run_id}) as executions`;
    return row;
  };
  expect(await left()).toEqual({ events: 3, executions: 1 });
  await server.call("DELETE", `/agent/runs/${run_id}`);
  expect(await left()).toEqual({ events: 0, executions: 0 });
});
