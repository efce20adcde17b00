import { randomUUID } from "node:crypto";
import type { Assignment, ClaimRequest, ClaimResponse } from "@outrider/contract/worker";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { type TestServer, testServer } from "../server.ts";

let server: TestServer;
let workerKey: string;
beforeAll(async () => {
  // Leases outlast the tests.
  server = await testServer({ OUTRIDER_LEASE_SECONDS: "600" });
  workerKey = (await server.call("POST", "/keys", { body: { name: "w", type: "worker" } })).body.key;
});
afterAll(() => server.stop());
beforeEach(async () => {
  await server.db`update runs set build_id = null`;
  await server.db`delete from builds`;
  await server.db`delete from shells`;
  await server.db`update run_state set state = 'CANCELLED', warm_until = null where state in ('QUEUED', 'INPROGRESS')`;
  await server.db`update executions set ended_at = now() where ended_at is null`;
  await server.db`delete from workers`;
});

const newWorker = (sandbox?: string, more: object = {}) => ({
  ...{ worker_id: randomUUID(), name: "w", version: "1", slots: 4 },
  ...(sandbox ? { sandbox } : {}),
  ...more,
});
const asWorker = (path: string, body: object) =>
  server.call("POST", `/worker${path}`, { body, key: workerKey });
const claim = async (worker: object, more: Partial<ClaimRequest> = {}): Promise<ClaimResponse> =>
  (await asWorker("/claim", { request_id: randomUUID(), worker, free: 4, wait_ms: 0, ...more })).body;
const claimedBy = async (worker: object): Promise<string[]> =>
  (await claim(worker)).executions.map(({ run_id }) => run_id);
const created = async (config: object = {}): Promise<string> =>
  (await server.call("POST", "/agent/run", { body: { prompt: "SAY: hello", config } })).body.run_id;
const get = async (run: string) => (await server.call("GET", `/agent/runs/${run}`)).body;
const environment = async (config: object): Promise<string> =>
  (await server.call("POST", "/agent/environments", { body: { name: randomUUID(), ...config } })).body
    .environment_id;
const requestBuild = async (environmentId: string) =>
  (await server.call("POST", `/agent/environments/${environmentId}/builds`)).body;
const usage = { input_tokens: 0, cached_input_tokens: 0, output_tokens: 0, cost_usd: 0, steps: 0 };

async function finish(execution: Assignment | undefined) {
  const { run_id, execution_id } = execution as Assignment;
  const outcome = { type: "succeeded", text: "done" };
  const body = { run_id, batch: 1, events: [], usage: { ...usage, run_seconds: 0 }, outcome };
  expect((await asWorker(`/executions/${execution_id}/finish`, body)).status).toBe(200);
}

const keyOf = (letter: string) => letter.repeat(64);
const prepare = async (execution: Assignment | undefined, worker: { worker_id: string }, key: string) => {
  const { run_id, execution_id } = execution as Assignment;
  const body = { run_id, worker_id: worker.worker_id, key, repositories: [] };
  const response = await asWorker(`/executions/${execution_id}/prepare`, body);
  expect(response.status).toBe(200);
  return response.body;
};

async function finishBuild({ build_id, token }: { build_id: string; token: string }, key: string) {
  const sha256 = randomUUID().replaceAll("-", "").repeat(2);
  const outcome = { type: "ready", key, sha256, size_bytes: 1, repositories: [] };
  const response = await asWorker(`/builds/${build_id}/finish`, { token, batch: 1, events: [], outcome });
  expect(response.status).toBe(204);
}

describe("a run that asks for a kind of sandbox", () => {
  test("goes only to workers of this kind; older workers are local", async () => {
    const docker = await created({ sandbox: "docker" });
    const local = await created({ sandbox: "local" });
    expect((await claim(newWorker(), { free: 0 })).offers_sandboxes).toBe(true);
    expect(await claimedBy(newWorker())).toEqual([local]);
    expect(await claimedBy(newWorker("docker"))).toEqual([docker]);
    const any = await created();
    expect(await claimedBy(newWorker("docker"))).toEqual([any]);
  });

  test("waits for such a worker, and says so", async () => {
    const run = await created({ sandbox: "docker", worker_selector: { region: "eu" } });
    await claim(newWorker("local", { labels: { region: "eu" } }));
    await claim(newWorker("docker"));
    expect((await get(run)).queue).toEqual({
      ...{ position: 1, reason: "no_matching_worker" },
      detail:
        "No connected worker of the pool `default` has the label `region=eu` and sandboxes of the kind `docker`.",
    });
    const plain = await created({ sandbox: "docker" });
    await server.db`delete from workers`;
    await claim(newWorker());
    expect((await get(plain)).queue.detail).toBe(
      "No connected worker of the pool `default` has sandboxes of the kind `docker`.",
    );
    await claim(newWorker("docker", { labels: { region: "eu" } }), { free: 0 });
    expect((await get(run)).queue).not.toHaveProperty("reason");
  });

  test("is assigned to a waiting claim of its kind", async () => {
    const waiting = { wait_ms: 20_000 };
    const metric = async () =>
      (await server.call("GET", `${server.origin}/metrics`)).text.match(
        /^outrider_claims_waiting (\d)$/m,
      )?.[1];
    const local = claim(newWorker(), waiting);
    await vi.waitUntil(async () => (await metric()) === "1", waitOptions);
    const docker = claim(newWorker("docker"), waiting);
    await vi.waitUntil(async () => (await metric()) === "2", waitOptions);
    const run = await created({ sandbox: "docker" });
    expect((await docker).executions).toMatchObject([{ run_id: run }]);
    const other = await created({ sandbox: "local" });
    expect((await local).executions).toMatchObject([{ run_id: other }]);
  });

  test("takes the kind of its environment unless it sets one, and keeps it", async () => {
    const environment_id = await environment({ sandbox: "docker" });
    const inherited = await created({ environment_id });
    const own = await created({ environment_id, sandbox: "local" });
    expect((await get(inherited)).agent_config.sandbox).toBe("docker");
    expect((await get(own)).agent_config.sandbox).toBe("local");
    await server.call("PUT", `/agent/environments/${environment_id}`, { body: { name: randomUUID() } });
    expect(await claimedBy(newWorker("local"))).toEqual([own]);
    expect(await claimedBy(newWorker("docker"))).toEqual([inherited]);
  });

  test("does not receive the field, which older workers would reject", async () => {
    await created({ sandbox: "docker", name: "n" });
    const [execution] = (await claim(newWorker("docker"))).executions;
    expect(execution?.agent_config).toMatchObject({ name: "n" });
    expect(execution?.agent_config).not.toHaveProperty("sandbox");
  });

  test("is not assigned by a server of the previous version", async () => {
    await created({ sandbox: "docker" });
    const older = server.db`
      select run_id from outrider_claim_runs(${randomUUID()}, 'w', '1', 4, ${randomUUID()}, 4, 600000, 600000, null, 10, null, true)`;
    expect((await older).filter(({ run_id }) => run_id)).toEqual([]);
  });

  test("cannot be selected with a label", async () => {
    const config = { worker_selector: { "outrider/sandbox": "docker" } };
    const { status } = await server.call("POST", "/agent/run", { body: { prompt: "x", config } });
    expect(status).toBe(400);
    const labels = { "outrider/sandbox": "docker" };
    const body = { request_id: randomUUID(), worker: newWorker(undefined, { labels }), free: 1, wait_ms: 0 };
    expect((await asWorker("/claim", body)).status).toBe(400);
  });
});

describe("a build", () => {
  test("is made only by a worker of the environment's kind", async () => {
    const environment_id = await environment({ sandbox: "docker", setup_commands: ["true"] });
    const { build_id } = await requestBuild(environment_id);
    expect((await claim(newWorker())).builds).toEqual([]);
    expect((await claim(newWorker("docker"))).builds).toMatchObject([{ build_id }]);
  });

  test("is made by any worker if the environment asks for no kind", async () => {
    const environment_id = await environment({ setup_commands: ["true"] });
    const { build_id } = await requestBuild(environment_id);
    expect((await claim(newWorker("docker"))).builds).toMatchObject([{ build_id }]);
  });

  test("is used only by runs in the same kind of sandboxes", async () => {
    const environment_id = await environment({ setup_commands: ["true"] });
    const [docker, local] = [newWorker("docker"), newWorker("local")];
    await created({ environment_id });
    const [first] = (await claim(docker)).executions;
    const own = await prepare(first, docker, keyOf("a"));
    expect(own.state).toBe("yours");
    await finishBuild(own, keyOf("a"));
    await created({ environment_id });
    const [second] = (await claim(local)).executions;
    // Without the kind, the build of the same version with other commits would be used.
    expect(await prepare(second, local, keyOf("b"))).toMatchObject({ state: "yours" });
    await created({ environment_id });
    const [third] = (await claim(docker)).executions;
    expect(await prepare(third, docker, keyOf("c"))).toMatchObject({
      ...{ state: "ready", build: { build_id: own.build_id } },
    });
    // The newer build is queued, for a worker of the same kind only.
    expect((await claim(newWorker("local"))).builds).toEqual([]);
    expect((await claim(newWorker("docker"))).builds).toHaveLength(1);
  });

  test("keeps the later turns of a run on workers that can open it", async () => {
    const environment_id = await environment({ setup_commands: ["true"] });
    const docker = newWorker("docker");
    const run = await created({ environment_id });
    const [execution] = (await claim(docker)).executions;
    await finishBuild(await prepare(execution, docker, keyOf("d")), keyOf("d"));
    expect((await prepare(execution, docker, keyOf("d"))).state).toBe("ready");
    await finish(execution);
    await server.call("POST", `/agent/runs/${run}/followups`, { body: { message: "more" } });
    expect((await claim(newWorker("local"))).executions).toEqual([]);
    expect((await claim(newWorker("local"))).executions).toEqual([]);
    const { phase, attempts } = await get(run);
    expect({ phase, attempts }).toEqual({ phase: "recovering", attempts: 0 });
    expect((await claim(newWorker("docker"))).executions).toMatchObject([
      { run_id: run, turn: 2, attempt: 1 },
    ]);
    const { events } = (await server.call("GET", `/agent/runs/${run}/events`)).body;
    expect(JSON.stringify(events)).toContain("sandboxes of the kind `docker`");
  });
});

describe("shells", () => {
  test("are opened only by workers of the environment's kind", async () => {
    const environment_id = await environment({ sandbox: "docker" });
    const { shell_id } = (
      await server.call("POST", `/agent/environments/${environment_id}/shells`, { body: {} })
    ).body;
    const takes_shells = true;
    expect((await claim(newWorker(), { takes_shells })).shells).toEqual([]);
    expect((await claim(newWorker("docker"), { takes_shells })).shells).toMatchObject([{ shell_id }]);
  });
});

describe("workers", () => {
  test("are listed with their kind and engine, and without the internal label", async () => {
    const docker = newWorker("docker", { labels: { region: "eu" } });
    await claim(docker);
    const listed = async () => (await server.call("GET", "/workers")).body.workers;
    expect(await listed()).toMatchObject([{ labels: { region: "eu" }, sandbox: "docker" }]);
    expect((await listed())[0].labels).toEqual({ region: "eu" });
    const engine = { engine: "podman", engine_version: "5.4.0", runtime: "crun" };
    const controls = {
      memory: { enforced: true, by: "cgroup v2" },
      disk: { enforced: false, reason: "none" },
    };
    const { sandbox: _, labels: __, ...worker } = docker as Record<string, unknown>;
    const stats = {
      ...{
        slots_used: 0,
        accepts_runs: false,
        sandbox: "docker",
        sandbox_engine: engine,
        sandbox_controls: controls,
        sandboxes: 0,
      },
      ...{ memory_bytes: 1, cpu_seconds: 1, disk_free_bytes: {}, cache_bytes: {}, errors: {}, log_lines: {} },
    };
    expect((await asWorker("/heartbeat", { worker, executions: [], stats })).status).toBe(200);
    expect(await listed()).toMatchObject([
      { sandbox_engine: engine, sandbox_controls: controls, accepts_runs: false },
    ]);
    const run = await created({ sandbox: "docker" });
    expect((await get(run)).queue).toEqual({
      ...{ position: 1, reason: "no_ready_worker" },
      detail: expect.stringContaining("accept no runs now, because their container engine"),
    });
    // A second one is ready.
    await claim(newWorker("docker"), { free: 0 });
    expect((await get(run)).queue).toEqual({ position: 1 });
  });
});
