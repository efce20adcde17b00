import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "../server.ts";

let server: TestServer;
let workerKey: string;

beforeAll(async () => {
  server = await testServer();
  workerKey = (await server.call("POST", "/keys", { body: { name: "w", type: "worker" } })).body.key;
});
afterAll(() => server.stop());
beforeEach(async () => {
  const { body } = await server.call("GET", "/agent/environments");
  for (const { environment_id } of body.environments)
    await server.call("DELETE", `/agent/environments/${environment_id}`);
});

const worker = { worker_id: randomUUID(), name: "test", version: "0", slots: 100 };
const call = (path: string, body: object) => server.call("POST", `/worker${path}`, { body, key: workerKey });
const hash = (text: string) => createHash("sha256").update(text).digest("hex");
const claim = async () =>
  (await call("/claim", { request_id: randomUUID(), worker, free: 100, wait_ms: 0 })).body.executions;

const setup = () => ({ setup_commands: [`echo ${randomUUID()}`] });
const environment = async (name: string): Promise<string> =>
  (await server.call("POST", "/agent/environments", { body: { name, ...setup() } })).body.environment_id;

async function claimedRun(config: object, request: object = { prompt: "SAY: x" }) {
  const { body } = await server.call("POST", "/agent/run", { body: { ...request, config } });
  const execution = (await claim()).find((one: { run_id: string }) => one.run_id === body.run_id);
  return { run_id: body.run_id as string, execution_id: execution.execution_id as string, execution };
}

/** Creates a run whose worker makes a build with these skills, if none exists for the key. */
async function build(environment_id: string, key: string, skills?: object[]) {
  const { run_id, execution_id } = await claimedRun({ environment_id });
  const request = { run_id, worker_id: worker.worker_id, key: hash(key), repositories: [] };
  const { body } = await call(`/executions/${execution_id}/prepare`, request);
  if (body.state !== "yours") return body.state;
  const files = { key: hash(key), sha256: hash(`files ${key}`), size_bytes: 1, repositories: [] };
  const outcome = { type: "ready", ...files, ...(skills ? { skills } : {}) };
  const reply = await call(`/builds/${body.build_id}/finish`, {
    token: body.token,
    batch: 1,
    events: [],
    outcome,
  });
  expect(reply.status).toBe(204);
}

const skill = (name: string, description = "") => ({ name, description, skill_spec: `acme/tools:${name}` });
const listed = async () => (await server.call("GET", "/agent/skills")).body.skills;

describe("the list of skills", () => {
  test("is empty without builds, and for builds without skill information", async () => {
    expect(await listed()).toEqual([]);
    await build(await environment("old"), randomUUID());
    expect(await listed()).toEqual([]);
  });

  test("contains the skills of all environments by name, each once with its environments", async () => {
    const [b, a] = [await environment("b"), await environment("a")];
    await build(a, randomUUID(), [skill("tests", "Runs tests."), skill("deploy")]);
    await build(b, randomUUID(), [skill("tests", "Runs tests.")]);
    expect(await listed()).toEqual([
      { ...skill("deploy"), environments: [a] },
      { ...skill("tests", "Runs tests."), environments: [a, b] },
    ]);
  });

  test("includes an environment that uses another environment's build", async () => {
    const [a, b] = [await environment("a"), await environment("b")];
    const key = randomUUID();
    await build(a, key, [skill("deploy")]);
    expect(await build(b, key)).toBe("ready");
    expect(await listed()).toEqual([{ ...skill("deploy"), environments: [a, b] }]);
  });

  test("omits skills that an environment no longer has, and deleted environments", async () => {
    const id = await environment("a");
    await build(id, randomUUID(), [skill("deploy")]);
    await server.call("PUT", `/agent/environments/${id}`, { body: { name: "a", ...setup() } });
    expect(await listed()).toEqual([]);
    await build(id, randomUUID(), [skill("tests")]);
    expect(await listed()).toEqual([{ ...skill("tests"), environments: [id] }]);
    await server.call("DELETE", `/agent/environments/${id}`);
    expect(await listed()).toEqual([]);
  });

  test("rejects a skill from a worker if no run could use its spec", async () => {
    const { run_id, execution_id } = await claimedRun({ environment_id: await environment("a") });
    const request = { run_id, worker_id: worker.worker_id, key: hash(randomUUID()), repositories: [] };
    const { body } = await call(`/executions/${execution_id}/prepare`, request);
    const outcome = {
      ...{ type: "ready", key: request.key, sha256: hash("x"), size_bytes: 1, repositories: [] },
      skills: [{ name: "x", description: "", skill_spec: "nonsense" }],
    };
    const reply = await call(`/builds/${body.build_id}/finish`, {
      token: body.token,
      batch: 1,
      events: [],
      outcome,
    });
    expect(reply.status).toBe(400);
  });
});

describe("GET /agent", () => {
  const startable = async (key?: string) =>
    (await server.call("GET", "/agent", key ? { key } : {})).body.agents;
  const limitedTo = async (...environment_ids: string[]) =>
    (
      await server.call("POST", "/keys", {
        body: { name: "k", type: "personal", limits: { environment_ids } },
      })
    ).body.key;

  test("lists the skills that can be started, with their environments", async () => {
    expect(await startable()).toEqual([]);
    const id = await environment("a");
    await build(id, randomUUID(), [skill("tests", "Runs tests.")]);
    expect(await startable()).toEqual([{ ...skill("tests", "Runs tests."), environments: [id] }]);
  });

  test("lists for a limited key only the skills of its environments", async () => {
    const [a, b] = [await environment("a"), await environment("b")];
    await build(a, randomUUID(), [skill("tests"), skill("deploy")]);
    await build(b, randomUUID(), [skill("tests")]);
    expect(await startable(await limitedTo(b))).toEqual([{ ...skill("tests"), environments: [b] }]);
    expect(await startable(await limitedTo(a, b))).toEqual(await startable());
  });
});

describe("a run without a prompt", () => {
  test.each([
    ["acme/tools:deploy", "Use the skill deploy."],
    ["acme/tools:skills/notes/SKILL.md", "Use the skill notes."],
  ])("uses the skill %s", async (skill_spec, prompt) => {
    const { run_id, execution } = await claimedRun({ skill_spec }, {});
    expect((await server.call("GET", `/agent/runs/${run_id}`)).body).toMatchObject({ prompt, title: prompt });
    expect(execution.history[0]).toMatchObject({ type: "run.created", data: { prompt } });
  });

  test("is rejected without a skill", async () => {
    const { status, body } = await server.call("POST", "/agent/run", { body: { config: { name: "x" } } });
    expect([status, body.errors]).toEqual([
      400,
      [{ pointer: "/prompt", message: "is required, unless `config.skill_spec` names a skill" }],
    ]);
  });
});

describe("a run's name", () => {
  const spec = "acme/tools:skills/notes/SKILL.md";
  const receipt = {
    worker: "test",
    harness_version: "0",
    model_id: "scripted",
    network: { mode: "none" },
    skill: { skill_spec: spec, name: "release-notes", repository: "x", commit: "c", path: "p" },
  };
  const usage = {
    input_tokens: 0,
    cached_input_tokens: 0,
    output_tokens: 0,
    cost_usd: 0,
    steps: 0,
    run_seconds: 0,
  };
  const named = async (run_id: string) =>
    (await server.call("GET", `/agent/runs/${run_id}`)).body.agent_config.name;
  const found = async (name: string) =>
    (await server.call("GET", `/agent/runs?name=${name}`)).body.runs.map(
      (run: { run_id: string }) => run.run_id,
    );

  test("is the skill's folder at first, and the skill's own name once it is read", async () => {
    const { run_id, execution_id } = await claimedRun({ skill_spec: spec });
    expect(await named(run_id)).toBe("notes");
    const report = { run_id, batch: 1, events: [], receipt, deliver: false };
    expect((await call(`/executions/${execution_id}/report`, report)).status).toBe(200);
    expect(await named(run_id)).toBe("release-notes");
    expect(await found("release-notes")).toContain(run_id);
    expect(await found("notes")).not.toContain(run_id);
    // Repeating it changes nothing.
    expect((await call(`/executions/${execution_id}/report`, report)).status).toBe(200);
    expect(await named(run_id)).toBe("release-notes");
  });

  test("is set by the end of the turn if it was not reported before, and is part of the next claim", async () => {
    const { run_id, execution_id } = await claimedRun({ skill_spec: spec });
    const outcome = { type: "succeeded", text: "done" };
    const end = { run_id, batch: 1, events: [], usage, outcome, receipt };
    expect((await call(`/executions/${execution_id}/finish`, end)).body).toMatchObject({ ended: true });
    expect(await named(run_id)).toBe("release-notes");
    await server.call("POST", `/agent/runs/${run_id}/followups`, { body: { message: "SAY: more" } });
    const [again] = (await claim()).filter((one: { run_id: string }) => one.run_id === run_id);
    expect(again).toMatchObject({ receipt: { skill: { commit: "c" } } });
  });

  test.each(["mine", "notes"])("stays %s if the caller set it", async (name) => {
    const { run_id, execution_id } = await claimedRun({ skill_spec: spec, name });
    await call(`/executions/${execution_id}/report`, {
      run_id,
      batch: 1,
      events: [],
      receipt,
      deliver: false,
    });
    expect(await named(run_id)).toBe(name);
  });
});
