import { randomUUID } from "node:crypto";
import type { Assignment, ClaimRequest, ClaimResponse } from "@outrider/contract/worker";
import type { PoolDemand } from "@outrider/contract/worker-pool";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { deleteUnusedRequirements } from "../../src/store/dispatch/requirements.ts";
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
  await server.db`delete from builds`;
  await server.db`delete from shells`;
  await server.db`update run_state set state = 'CANCELLED', warm_until = null where state in ('QUEUED', 'INPROGRESS')`;
  await server.db`update executions set ended_at = now() where ended_at is null`;
  await server.db`delete from workers`;
});

interface Place {
  pool?: string;
  labels?: Record<string, string>;
}

const newWorker = (place: Place = {}, more: object = {}) => ({
  ...{ worker_id: randomUUID(), name: "w", version: "1", slots: 4 },
  ...place,
  ...more,
});
const asWorker = (path: string, body: object) =>
  server.call("POST", `/worker${path}`, { body, key: workerKey });
const claim = async (worker: object, more: Partial<ClaimRequest> = {}): Promise<ClaimResponse> =>
  (await asWorker("/claim", { request_id: randomUUID(), worker, free: 4, wait_ms: 0, ...more })).body;
const claimedBy = async (place: Place): Promise<string[]> =>
  (await claim(newWorker(place))).executions.map(({ run_id }) => run_id);
const create = (config: object = {}) =>
  server.call("POST", "/agent/run", { body: { prompt: "SAY: hello", config } });
const created = async (config: object = {}): Promise<string> => (await create(config)).body.run_id;
const cancelled = async (config: object): Promise<string> => {
  const run = await created(config);
  await server.call("POST", `/agent/runs/${run}/cancel`);
  return run;
};
const get = async (run: string) => (await server.call("GET", `/agent/runs/${run}`)).body;
const environment = async (config: object): Promise<string> =>
  (await server.call("POST", "/agent/environments", { body: { name: randomUUID(), ...config } })).body
    .environment_id;
const eu = { region: "eu" };
const usage = { input_tokens: 0, cached_input_tokens: 0, output_tokens: 0, cost_usd: 0, steps: 0 };

async function finish(execution: Assignment | undefined, more: object = {}) {
  const { run_id, execution_id } = execution as Assignment;
  const outcome = { type: "succeeded", text: "done" };
  const body = { run_id, batch: 1, events: [], usage: { ...usage, run_seconds: 0 }, outcome, ...more };
  expect((await asWorker(`/executions/${execution_id}/finish`, body)).status).toBe(200);
}

describe("a run that selects workers", () => {
  test("goes only to a worker of its pool with all of its labels", async () => {
    const plain = await created();
    const pooled = await created({ worker_host: "gpu" });
    const labeled = await created({ worker_selector: { ...eu, size: "large" } });
    expect((await claim(newWorker())).offers_pools).toBe(true);
    await server.db`update run_state set state = 'QUEUED', execution_id = null where run_id = ${plain}`;
    expect(await claimedBy({ pool: "cpu" })).toEqual([]);
    expect(await claimedBy({ pool: "gpu", labels: eu })).toEqual([pooled]);
    expect(await claimedBy({ labels: { ...eu, size: "small" } })).toEqual([plain]);
    expect(await claimedBy({ pool: "gpu", labels: { ...eu, size: "large" } })).toEqual([]);
    expect(await claimedBy({ labels: { ...eu, size: "large", disk: "ssd" } })).toEqual([labeled]);
  });

  test("is not assigned to older workers and servers, which know neither pools nor labels", async () => {
    await created({ worker_host: "gpu" });
    await created({ worker_selector: eu });
    const plain = await created();
    const older = server.db`
      select run_id from outrider_claim_runs(${randomUUID()}, 'w', '1', 4, ${randomUUID()}, 4, 600000, 600000, null, 10, null, true)`;
    expect(await older).toEqual([{ run_id: plain }]);
    expect((await claim(newWorker())).executions).toEqual([]);
  });

  test("does not receive the fields that older workers would reject", async () => {
    await created({ worker_host: "gpu", worker_selector: eu, name: "n" });
    const [execution] = (await claim(newWorker({ pool: "gpu", labels: eu }))).executions;
    expect(execution?.agent_config).toMatchObject({ name: "n" });
    expect(execution?.agent_config).not.toHaveProperty("worker_host");
    expect(execution?.agent_config).not.toHaveProperty("worker_selector");
  });

  test("is assigned to a waiting claim that matches, and not to one that does not", async () => {
    const waiting = { wait_ms: 20_000 };
    const metric = async () =>
      (await server.call("GET", `${server.origin}/metrics`)).text.match(
        /^outrider_claims_waiting (\d)$/m,
      )?.[1];
    const other = claim(newWorker(), waiting);
    await vi.waitUntil(async () => (await metric()) === "1", waitOptions);
    const matching = claim(newWorker({ pool: "gpu" }), waiting);
    await vi.waitUntil(async () => (await metric()) === "2", waitOptions);
    const run = await created({ worker_host: "gpu" });
    expect((await matching).executions).toMatchObject([{ run_id: run }]);
    const plain = await created();
    expect((await other).executions).toMatchObject([{ run_id: plain }]);
  });

  test("takes what it does not set from its environment, key by key", async () => {
    const environment_id = await environment({
      worker_host: "gpu",
      worker_selector: { region: "us", size: "large" },
    });
    const inherited = await created({ environment_id });
    const own = await created({ environment_id, worker_host: "cpu", worker_selector: eu });
    expect((await get(inherited)).agent_config).toMatchObject({
      worker_host: "gpu",
      worker_selector: { region: "us", size: "large" },
    });
    expect((await get(own)).agent_config).toMatchObject({
      worker_host: "cpu",
      worker_selector: { region: "eu", size: "large" },
    });
    // A later change of the environment applies only to new runs.
    await server.call("PUT", `/agent/environments/${environment_id}`, { body: { name: randomUUID() } });
    expect(await claimedBy({})).toEqual([]);
    expect(await claimedBy({ pool: "cpu", labels: { ...eu, size: "large" } })).toEqual([own]);
    const later = await created({ environment_id });
    expect(await claimedBy({})).toEqual([later]);
  });

  test("keeps its selection for follow-ups, and its warm sandbox comes first", async () => {
    const [first, second] = [newWorker({ labels: eu }), newWorker({ labels: eu })];
    const run = await created({ worker_selector: eu });
    const [execution] = (await claim(first)).executions;
    await finish(execution, { warm_minutes: 10 });
    await server.call("POST", `/agent/runs/${run}/followups`, { body: { message: "more" } });
    expect((await claim(newWorker())).executions).toEqual([]);
    expect((await claim(second)).executions).toEqual([]);
    expect((await claim(first)).executions).toMatchObject([{ run_id: run, turn: 2 }]);
  });

  test("says why it is queued, and which workers it waits for", async () => {
    const run = await created({ worker_host: "gpu", worker_selector: { ...eu, size: "large" } });
    const queueOf = async () => (await get(run)).queue;
    expect(await queueOf()).toEqual({ position: 1, reason: "no_worker" });
    await claim(newWorker());
    await claim(newWorker({ pool: "gpu", labels: eu }));
    expect(await queueOf()).toEqual({
      ...{ position: 1, reason: "no_matching_worker" },
      detail: "No connected worker of the pool `gpu` has the labels `region=eu`, `size=large`.",
    });
    await claim(newWorker({ pool: "gpu", labels: { ...eu, size: "large" } }), { free: 0 });
    expect(await queueOf()).toEqual({ position: 1 });
    const other = await created({ worker_host: "big" });
    expect((await get(other)).queue).toMatchObject({
      reason: "no_matching_worker",
      detail: "No connected worker is in the pool `big`.",
    });
  });

  test("needs a harness worker that matches", async () => {
    const run = await created({ worker_host: "gpu", harness: "codex" });
    await claim(newWorker(), { takes_harnesses: true });
    expect((await claim(newWorker({ pool: "gpu" }))).executions).toEqual([]);
    expect((await get(run)).queue.reason).toBe("no_harness_worker");
    expect((await claim(newWorker({ pool: "gpu" }), { takes_harnesses: true })).executions).toMatchObject([
      { run_id: run },
    ]);
  });

  test("counts only the free slots of matching workers", async () => {
    await claim(newWorker({ pool: "gpu" }, { slots: 1 }));
    await claim(newWorker());
    expect((await create({ worker_host: "gpu" })).body.at_capacity).toBe(false);
    expect((await create({ worker_host: "gpu" })).body.at_capacity).toBe(true);
    expect((await create()).body.at_capacity).toBe(false);
  });

  test("counts the runs that are created at the same time", async () => {
    await claim(newWorker({ pool: "wide" }, { slots: 3 }));
    const created = await Promise.all(
      Array.from({ length: 8 }, (_, n) => create({ worker_host: n % 2 ? "wide" : "narrow" })),
    );
    const full = created.filter(({ body }) => body.at_capacity).length;
    // One of the four that need the workers of `wide` is too many. Nobody takes the others.
    expect(full).toBe(5);
  });

  test("is rejected if it would be one combination too many", async () => {
    await server.db`
      insert into worker_requirements (pool, selector, needs_harness)
      select 'many', jsonb_build_object('n', i::text), false from generate_series(1, 1000) i on conflict do nothing`;
    try {
      expect((await create({ worker_host: "new" })).body.errors).toMatchObject([
        { pointer: "/config/worker_selector", message: expect.stringContaining("1000 combinations") },
      ]);
      expect((await create({ worker_host: "many", worker_selector: { n: "7" } })).status).toBe(200);
    } finally {
      await server.db`delete from worker_requirements where pool = 'many'`;
    }
  });

  test("no longer counts when no run has selected the same for a day", async () => {
    const lasting = ["used-by-run", "used-today"];
    await created({ worker_host: "used-by-run" });
    await server.call("DELETE", `/agent/runs/${await cancelled({ worker_host: "unused" })}`);
    await server.call("DELETE", `/agent/runs/${await cancelled({ worker_host: "used-today" })}`);
    const stored = async () => {
      const rows = await server.db<{ pool: string }[]>`
        select pool from worker_requirements where pool in ('unused', 'used-by-run', 'used-today') order by pool`;
      return rows.map(({ pool }) => pool);
    };
    await deleteUnusedRequirements(server.db);
    expect(await stored()).toEqual(["unused", ...lasting]);
    await server.db`update worker_requirements set used_at = now() - interval '25 hours'`;
    await server.call("DELETE", `/agent/runs/${await cancelled({ worker_host: "used-today" })}`);
    await deleteUnusedRequirements(server.db);
    expect(await stored()).toEqual(lasting);
  });
});

describe("an environment that selects workers", () => {
  test("is built only by a matching worker", async () => {
    const environment_id = await environment({
      ...{ worker_host: "gpu", worker_selector: eu },
      setup_commands: ["true"],
    });
    const build = (await server.call("POST", `/agent/environments/${environment_id}/builds`)).body;
    expect((await claim(newWorker())).builds).toEqual([]);
    expect((await claim(newWorker({ pool: "gpu" }))).builds).toEqual([]);
    expect((await claim(newWorker({ pool: "gpu", labels: eu }))).builds).toMatchObject([
      { build_id: build.build_id },
    ]);
  });

  test("is built by the one of two waiting workers that matches", async () => {
    const waiting = { wait_ms: 20_000 };
    const other = newWorker();
    const claims = [claim(other, waiting), claim(newWorker({ labels: eu }), waiting)];
    await vi.waitUntil(
      async () => (await server.db`select from workers where labels @> ${server.db.json(eu)}`).length === 1,
      waitOptions,
    );
    const environment_id = await environment({ worker_selector: eu, setup_commands: ["true"] });
    const build = (await server.call("POST", `/agent/environments/${environment_id}/builds`)).body;
    expect((await claims[1])?.builds).toMatchObject([{ build_id: build.build_id }]);
    const run = await created();
    expect((await claims[0])?.executions).toMatchObject([{ run_id: run }]);
  });

  test("opens shells only on a matching worker", async () => {
    const environment_id = await environment({ worker_selector: eu });
    const opened = await server.call("POST", `/agent/environments/${environment_id}/shells`, { body: {} });
    expect(opened.status).toBe(201);
    const takes_shells = true;
    expect((await claim(newWorker(), { takes_shells })).shells).toEqual([]);
    expect((await claim(newWorker({ labels: eu }), { takes_shells })).shells).toMatchObject([
      { shell_id: opened.body.shell_id },
    ]);
  });
});

describe("workers", () => {
  test("are listed with their pool and labels", async () => {
    await claim(newWorker({ pool: "gpu", labels: eu }));
    const { workers } = (await server.call("GET", "/workers")).body;
    expect(workers).toMatchObject([{ pool: "gpu", labels: eu }]);
  });

  test("cannot have invalid or too many labels", async () => {
    const many = Object.fromEntries(Array.from({ length: 33 }, (_, number) => [`l${number}`, "x"]));
    for (const place of [
      { pool: "a b" },
      { labels: { "": "x" } },
      { labels: { x: "y z" } },
      { labels: many },
    ]) {
      const body = { request_id: randomUUID(), worker: newWorker(place), free: 1, wait_ms: 0 };
      expect((await asWorker("/claim", body)).status, JSON.stringify(place)).toBe(400);
    }
  });

  test("are in demand by pool", async () => {
    const demand = async (query = ""): Promise<PoolDemand[]> =>
      (await server.call("GET", `/workers/demand${query}`)).body.pools;
    const none = { queued: 0, running: 0, workers: 0, slots: 0, free: 0, oldest_wait_seconds: 0 };
    expect(await demand()).toEqual([{ pool: "default", ...none }]);
    expect(await demand("?pool=gpu")).toEqual([{ pool: "gpu", ...none }]);
    const first = await created({ worker_host: "gpu" });
    await created({ worker_host: "gpu", worker_selector: eu });
    await created({ worker_host: "big" });
    await server.db`update run_state set queued_at = queued_at - interval '1 minute' where state = 'QUEUED'`;
    expect(await claimedBy({ pool: "gpu" })).toEqual([first]);
    await claim(newWorker(), { free: 0 });
    expect(await demand()).toEqual([
      { ...none, pool: "default", workers: 1, slots: 4, free: 4 },
      {
        ...{ pool: "gpu", queued: 1, running: 1, workers: 1, slots: 4, free: 3 },
        oldest_wait_seconds: expect.closeTo(60, -2),
      },
      { ...none, pool: "big", queued: 1, oldest_wait_seconds: expect.closeTo(60, -2) },
    ]);
    expect(await demand("?pool=gpu")).toMatchObject([{ pool: "gpu", queued: 1 }]);
    const metrics = (await server.call("GET", `${server.origin}/metrics`)).text;
    expect(metrics).toContain('outrider_pool_queued{pool="gpu"} 1');
    expect(metrics).toContain('outrider_pool_running{pool="gpu"} 1');
    expect(metrics).toContain('outrider_pool_slots{pool="gpu"} 4');
    expect(metrics).toContain('outrider_pool_free{pool="gpu"} 3');
    expect(metrics).toMatch(/^outrider_pool_oldest_wait_seconds\{pool="big"\} 6\d/m);
  });
});
