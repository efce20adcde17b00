import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { appendFinalReport } from "../../src/store/runs/run-state.ts";
import { type TestServer, testServer } from "../server.ts";

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
  test("claims a queued run and returns everything the worker needs", async () => {
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

  test("without free slots gets what it claimed before, and nothing new", async () => {
    await claim();
    const [first, request] = [await create(), randomUUID()];
    expect(await claim(1, request)).toMatchObject([{ run_id: first }]);
    await create();
    expect(await claim(0, request)).toMatchObject([{ run_id: first }]);
    expect(await claim(0)).toEqual([]);
    await claim();
  });

  test("that is repeated returns the same runs and claims no others", async () => {
    await create();
    const request = randomUUID();
    const first = await claim(1, request);
    await create();
    expect(await claim(1, request)).toMatchObject([{ execution_id: first[0].execution_id }]);
  });
});

describe("private data of an event", () => {
  const replay = {
    model: "m",
    parts: [{ type: "reasoning", start: 0, end: 1, metadata: { p: { s: "sealed" } } }],
  };
  const event = { type: "usage.updated", data: usage, private: { replay } };

  test("is returned to workers only", async () => {
    const { run_id, execution, path } = await claimed();
    const body = { run_id, batch: 1, events: [event], deliver: false };
    expect((await call(`${path}/report`, body)).status).toBe(200);
    const history = await server.call("GET", `/worker${path}/events?after=0`, { key: workerKey });
    expect(history.body.events.at(-1)).toMatchObject({ type: "usage.updated", private: { replay } });
    expect(history.body.events[0]).not.toHaveProperty("private");

    for (const route of ["events", "transcript", ""]) {
      for (const accept of ["application/json", "text/markdown"]) {
        const response = await server.call("GET", `/agent/runs/${run_id}/${route}`.replace(/\/$/, ""), {
          headers: { accept },
        });
        expect(response.text).not.toContain("sealed");
      }
    }
    const { body: share } = await server.call("POST", `/agent/runs/${run_id}/share`, { body: {} });
    expect(JSON.stringify(share)).not.toContain("sealed");

    await call(`${path}/release`, { run_id });
    const next = (await claim()).find((one: { run_id: string }) => one.run_id === run_id);
    expect(next.execution_id).not.toBe(execution.execution_id);
    expect(next.history.find(({ type }: { type: string }) => type === "usage.updated")).toMatchObject({
      private: { replay },
    });
    expect(next.history[0]).not.toHaveProperty("private");
  });

  test("is limited in size", async () => {
    const { run_id, path } = await claimed();
    const large = Array.from({ length: 3 }, () => ({
      ...replay.parts[0],
      metadata: { p: { s: "x".repeat(200_000) } },
    }));
    const events = [{ ...event, private: { replay: { ...replay, parts: large } } }];
    const { status } = await call(`${path}/report`, { run_id, batch: 1, events, deliver: false });
    expect(status).toBe(400);
  });
});

describe("a report", () => {
  test("is written once, even if it is sent repeatedly", async () => {
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

  test("of a cancelled run is rejected", async () => {
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

const message = { type: "message.agent", data: { text: "hi" } };
const artifact = {
  artifact_id: randomUUID(),
  type: "FILE",
  name: "a.txt",
  mime_type: "text/plain",
  size_bytes: 1,
  sha256: "0".repeat(64),
};
const snapshot = { sha256: "1".repeat(64), seq: 2 };

test("an artifact has its type and creation time, on its own and on its run", async () => {
  const { run_id, path } = await claimed();
  const sent = { ...artifact, artifact_id: randomUUID() };
  const { artifact_id, name, mime_type, size_bytes } = sent;
  await call(`${path}/report`, { run_id, batch: 1, events: [], deliver: false, artifacts: [sent] });
  const { body } = await server.call("GET", `/agent/artifacts/${artifact_id}`);
  const created_at = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  const shown = { artifact_id, artifact_type: "FILE", created_at, name, mime_type, size_bytes };
  expect(body).toEqual({ ...shown, run_id });
  const run = await get(run_id);
  expect(run.artifacts).toEqual([shown]);
  expect(run.artifacts[0].created_at).toBe(body.created_at);
});
const succeeded = { type: "succeeded", text: "done" };

test.each([
  ["a report", "report", { deliver: false }],
  ["a report with an artifact", "report", { deliver: false, artifacts: [artifact] }],
  ["the end of a turn", "finish", { outcome: succeeded }],
  ["the end of a turn with a snapshot", "finish", { outcome: succeeded, snapshot }],
  ["a failure", "finish", { outcome: { type: "failed", error_code: "timeout", message: "late" } }],
])("%s stores its progress and the time of the first output", async (_, operation, body) => {
  const { run_id, path } = await claimed();
  const request = { run_id, batch: 1, usage, phase: "working", ...body };
  await call(`${path}/${operation}`, { ...request, events: [message] });
  const run = await get(run_id);
  expect(run).toMatchObject({ usage, timings: { working: expect.any(Number) } });
  expect(run.timings.to_first_output).toEqual(expect.any(Number));
  expect(await types(run_id)).toContain("message.agent");

  const other = await claimed();
  const silent = { type: "notice", data: { message: "not an output" } };
  await call(`${other.path}/${operation}`, { ...request, run_id: other.run_id, events: [silent] });
  expect((await get(other.run_id)).timings).not.toHaveProperty("to_first_output");
});

describe("the end of a turn", () => {
  test("makes the run final", async () => {
    const { run_id, path } = await claimed();
    const body = { run_id, batch: 1, events: [], usage, outcome: succeeded };
    for (let round = 0; round < 2; round++) {
      expect((await call(`${path}/finish`, body)).body).toEqual({ ended: true, followups: [] });
    }
    expect(await get(run_id)).toMatchObject({ state: "SUCCEEDED", phase: "done", usage });
    expect(await types(run_id)).toEqual(["run.created", "run.claimed", "run.succeeded"]);
  });

  test("delivers follow-ups that arrived meanwhile", async () => {
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

  test("of several runs at once ends each as if it were alone", async () => {
    const runs: Awaited<ReturnType<typeof claimed>>[] = [];
    for (let n = 0; n < 6; n++) runs.push(await claimed({ title: `run ${n}` }));
    const [, asked, steered, cancelled, repeated] = runs;
    await server.call("POST", `/agent/runs/${steered?.run_id}/followups`, {
      body: { message: "wait", mode: "queue" },
    });
    await server.call("POST", `/agent/runs/${cancelled?.run_id}/cancel`);
    const finish = (run: (typeof runs)[number]) =>
      call(`${run.path}/finish`, {
        run_id: run.run_id,
        batch: 1,
        events: [message],
        usage: { ...usage, output_tokens: runs.indexOf(run) },
        outcome: run === asked ? { type: "blocked", question: "Which one?" } : succeeded,
      });
    const finishes = await Promise.all([...runs, repeated as NonNullable<typeof repeated>].map(finish));
    expect(finishes.map(({ status, body }) => body.ended ?? status)).toEqual([
      true,
      true,
      false,
      409,
      true,
      true,
      true,
    ]);
    const found = await Promise.all(runs.map(({ run_id }) => get(run_id)));
    expect(found.map(({ title, state, usage }) => [title, state, usage.output_tokens])).toEqual([
      ["run 0", "SUCCEEDED", 0],
      ["run 1", "BLOCKED", 1],
      ["run 2", "INPROGRESS", 2],
      ["run 3", "CANCELLED", 0],
      ["run 4", "SUCCEEDED", 4],
      ["run 5", "SUCCEEDED", 5],
    ]);
    const ended = ["run.created", "run.claimed", "message.agent", "run.succeeded"];
    for (const { run_id } of [runs[0], runs[4], runs[5]] as typeof runs) {
      expect(await types(run_id)).toEqual(ended);
      expect((await events(run_id)).map(({ seq }: { seq: number }) => seq)).toEqual([1, 2, 3, 4]);
    }
  });

  test("without usage keeps the usage that was reported before", async () => {
    const { run_id, execution, path } = await claimed();
    await call(`${path}/report`, { run_id, batch: 1, events: [], usage, deliver: false });
    const report = { runId: run_id, executionId: execution.execution_id, batch: 2, events: [] };
    const event = { type: "run.succeeded" as const, data: { text: "done" } };
    expect(
      await appendFinalReport(server.db, report, { to: "SUCCEEDED", phase: "done", event }),
    ).toBeDefined();
    expect(await get(run_id)).toMatchObject({ state: "SUCCEEDED", usage });
  });

  test.each([
    ["a success", succeeded],
    ["a failure", { type: "failed", error_code: "internal_error", message: "broken" }],
  ])("with %s keeps the sandbox warm if the worker says so", async (_, outcome) => {
    for (const warm_minutes of [undefined, 5]) {
      const { run_id, path } = await claimed();
      await call(`${path}/finish`, { run_id, batch: 1, events: [], usage, outcome, warm_minutes });
      expect((await get(run_id)).is_sandbox_running).toBe(warm_minutes !== undefined);
    }
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

test("deleting a run deletes its events and executions", async () => {
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

describe("the ends of several turns in one request", () => {
  const outcome = { type: "succeeded", text: "hello" };
  const endOf = ({ run_id, execution }: Awaited<ReturnType<typeof claimed>>, more: object = {}) => {
    const { execution_id } = execution;
    return { execution_id, run_id, batch: 1, events: [], usage, outcome, ...more };
  };

  test("end each turn once, also if the request is repeated", async () => {
    const runs = [await claimed(), await claimed(), await claimed()];
    const finishes = runs.map((run) => endOf(run));
    for (let time = 0; time < 2; time++) {
      const { status, body } = await call("/finish", { finishes });
      expect(status).toBe(200);
      const finished = runs.map(({ execution: { execution_id } }) => ({
        ...{ execution_id, ended: true, followups: [] },
      }));
      expect(body).toEqual({ finished });
    }
    for (const { run_id } of runs) {
      expect(await get(run_id)).toMatchObject({ state: "SUCCEEDED" });
      expect(await types(run_id)).toEqual(["run.created", "run.claimed", "run.succeeded"]);
    }
  });

  test("leave out an execution that lost its lease, and end the others", async () => {
    const [cancelled, other] = [await claimed(), await claimed()];
    await server.call("POST", `/agent/runs/${cancelled.run_id}/cancel`);
    const { status, body } = await call("/finish", { finishes: [endOf(cancelled), endOf(other)] });
    expect(status).toBe(200);
    expect(body.finished).toMatchObject([{ execution_id: other.execution.execution_id, ended: true }]);
    expect(await get(cancelled.run_id)).toMatchObject({ state: "CANCELLED" });
    expect((await call(`${cancelled.path}/finish`, withoutId(endOf(cancelled)))).status).toBe(409);
  });

  test("deliver a follow-up instead of ending its turn", async () => {
    const [followed, other] = [await claimed(), await claimed()];
    await server.call("POST", `/agent/runs/${followed.run_id}/followups`, { body: { message: "more" } });
    const { body } = await call("/finish", { finishes: [endOf(followed), endOf(other)] });
    expect(body.finished).toMatchObject([
      { ended: false, followups: [{ message: "more" }] },
      { ended: true },
    ]);
  });

  test("are all rejected if the execution does not belong to the run", async () => {
    const [first, second] = [await claimed(), await claimed()];
    const finishes = [endOf(first), endOf(second, { run_id: first.run_id })];
    expect((await call("/finish", { finishes })).status).toBe(404);
    expect(await get(first.run_id)).toMatchObject({ state: "INPROGRESS" });
  });

  const withoutId = ({ execution_id: _, ...end }: { execution_id: string }) => end;
});
