import { randomUUID } from "node:crypto";
import type { Assignment } from "@outrider/contract/worker";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Principal } from "../../src/engine/auth/principal.ts";
import { budgetsOf, requireBudget, reserve, settle } from "../../src/engine/limits/budgets.ts";
import { release } from "../../src/engine/runs/executions.ts";
import { cancelRun } from "../../src/engine/runs/runs.ts";
import { deleteOldCosts } from "../../src/store/budgets.ts";
import { type Db, openDb } from "../../src/store/connection/db.ts";
import { attempt, startClock, type TestEngine, testEngine } from "../engine.ts";
import { type TwoServers, twoServers } from "../second-server.ts";

const DAY = 86_400_000;

describe("a daily budget", () => {
  let engine: TestEngine;
  let onward: (ms: number) => Promise<void>;
  let key: Principal;
  beforeAll(async () => {
    engine = await testEngine({ connections: 1 });
    onward = await startClock(engine);
  });
  afterAll(() => engine.stop());
  beforeEach(async () => {
    const limits = { max_cost_usd_per_day: 1 };
    key = await engine.key({ name: "thrifty", type: "personal", limits });
  });

  const claimed = async (principal = key): Promise<Assignment> => {
    const run = await engine.create({}, principal);
    return (await engine.claim()).find(({ run_id }) => run_id === run) as Assignment;
  };
  const ask = async (
    { run_id, execution_id }: Assignment,
    usd: number,
    { cost = 0, id = randomUUID(), total }: { cost?: number; id?: string; total?: number } = {},
  ) => {
    const request = { run_id, reservation_id: id, cost_usd: cost, usd };
    const { is_limited, refusal } = await reserve(engine.db, execution_id, request, {
      maxCostUsdPerDay: total,
    });
    return { is_limited, refusal, settle: (at: number) => settle(engine.db, { ...request, cost_usd: at }) };
  };
  const used = async (who = key, total?: number) =>
    (await budgetsOf(engine.db, who, { maxCostUsdPerDay: total })).map(({ used_usd }) =>
      Number(used_usd.toFixed(9)),
    );

  test("counts reservations as spent, and then the actual cost", async () => {
    const run = await claimed();
    const first = await ask(run, 0.4);
    expect([first.refusal, await used()]).toEqual([undefined, [0.4]]);
    await first.settle(0.15);
    expect(await used()).toEqual([0.15]);
    const second = await ask(run, 0.4, { cost: 0.15 });
    await second.settle(0.75);
    expect(await used()).toEqual([0.75]);
  });

  test("rejects a call that exceeds it, until another call returns what it did not need", async () => {
    const [one, other] = [await claimed(), await claimed()];
    const first = await ask(one, 0.7);
    const refused = await ask(other, 0.4);
    expect(refused.refusal).toMatch(
      /^The run's key has a daily budget of \$1\.00\. \$0\.70 has been spent or reserved/,
    );
    expect(await used()).toEqual([0.7]);
    await first.settle(0.1);
    expect((await ask(other, 0.4)).refusal).toBeUndefined();
  });

  test("counts a repeated request once, and ignores a late settlement", async () => {
    const run = await claimed();
    const id = randomUUID();
    const first = await ask(run, 0.4, { id });
    await ask(run, 0.4, { id });
    expect(await used()).toEqual([0.4]);
    await first.settle(0.2);
    await ask(run, 0.3, { cost: 0.2 });
    await first.settle(0.2);
    expect(await used()).toEqual([0.5]);
  });

  test("keeps the reservation of a lost worker as spent", async () => {
    const run = await claimed();
    await ask(run, 0.4);
    await onward(engine.policy.leaseMs + engine.policy.graceMs + 1_000);
    const [again] = (await engine.claim()).filter(({ run_id }) => run_id === run.run_id) as [Assignment];
    expect(again.attempt).toBe(2);
    expect(await attempt(() => ask(run, 0.1))).toEqual({ refused: "conflict" });
    await ask(again, 0.2);
    expect(await used()).toEqual([0.6]);
  });

  test("counts at least the known cost of a lost call", async () => {
    const run = await claimed();
    await ask(run, 0.1);
    await engine.tx((tx) => release(tx, run.execution_id, { run_id: run.run_id }));
    const [again] = (await engine.claim()).filter(({ run_id }) => run_id === run.run_id) as [Assignment];
    await ask(again, 0.05, { cost: 0.3 });
    expect(await used()).toEqual([0.35]);
  });

  test("keeps the reservation of a cancelled run, unless it reports the actual cost", async () => {
    const [silent, honest] = [await claimed(), await claimed()];
    await ask(silent, 0.2);
    const said = await ask(honest, 0.3);
    for (const { run_id } of [silent, honest]) await engine.tx((tx) => cancelRun(tx, key, run_id));
    await said.settle(0.05);
    expect(await used()).toEqual([0.25]);
    expect(await attempt(() => ask(silent, 0.1))).toEqual({ refused: "conflict" });
  });

  test("resets on the next UTC day, and a call counts for the day on which it started", async () => {
    const run = await claimed();
    const call = await ask(run, 0.9);
    await engine.db`update run_state set lease_expires_at = lease_expires_at + interval '2 days', turn_deadline_at = turn_deadline_at + interval '2 days'`;
    await onward(DAY);
    expect(await used()).toEqual([0]);
    await call.settle(0.95);
    expect(await used()).toEqual([0]);
    expect((await ask(run, 0.9, { cost: 0.95 })).refusal).toBeUndefined();
    expect(await used()).toEqual([0.9]);
  });

  test("of the installation applies to runs with and without keys", async () => {
    const run = await claimed(engine.admin);
    expect(await ask(run, 1_000)).toMatchObject({ is_limited: false, refusal: undefined });
    await ask(await claimed(), 0.9, { total: 2 });
    const refused = await ask(run, 1.2, { total: 2 });
    expect(refused).toMatchObject({
      is_limited: true,
      refusal: expect.stringMatching(/^The installation has a daily budget of \$2\.00/),
    });
    expect(await used(key, 2)).toEqual([0.9, 0.9]);
  });

  test("rejects a run that could not make a single call", async () => {
    await requireBudget(engine.db, key, {});
    const call = await ask(await claimed(), 1);
    expect(await attempt(() => requireBudget(engine.db, key, {}))).toEqual({ refused: "budget_exceeded" });
    expect(await attempt(() => engine.create({}, key))).toEqual({ refused: "budget_exceeded" });
    await call.settle(0.5);
    await requireBudget(engine.db, key, {});
  });

  test("deletes old rows", async () => {
    await ask(await claimed(), 0.1);
    await onward(70 * DAY);
    await deleteOldCosts(engine.db);
    expect(await engine.db`select 1 from reservations`).toHaveLength(0);
    expect(await engine.db`select 1 from daily_costs`).toHaveLength(0);
  });
});

test("concurrent workers never reserve more than the budget and settle everything", async () => {
  const engine = await testEngine({ connections: 12 });
  const others: Db[] = [openDb(engine.url, { connections: 6 }), openDb(engine.url, { connections: 6 })];
  try {
    const limits = { max_cost_usd_per_day: 2 };
    const keys = await Promise.all(
      [1, 2].map((n) => engine.key({ name: `k${n}`, type: "personal", limits })),
    );
    for (let number = 0; number < 24; number++) await engine.create({}, keys[number % 2]);
    const runs = await engine.claim();
    expect(runs).toHaveLength(24);
    let most = 0;
    const work = async ({ run_id, execution_id }: Assignment, index: number) => {
      const db = others[index % 2] as Db;
      let [cost, refusals] = [0, 0];
      for (let call = 0; call < 6; call++) {
        const request = { run_id, reservation_id: randomUUID(), cost_usd: cost, usd: 0.2 };
        const { refusal } = await reserve(db, execution_id, request, { maxCostUsdPerDay: 3 });
        const rows = await db<{ usd: number }[]>`select usd from daily_costs where subject = 'installation'`;
        most = Math.max(most, rows[0]?.usd ?? 0);
        refusals += refusal === undefined ? 0 : 1;
        cost += refusal === undefined ? 0.03 : 0;
        if (refusal === undefined) await settle(db, { ...request, cost_usd: cost });
      }
      return { cost, refusals };
    };
    const done = await Promise.all(runs.map(work));
    const spent = done.reduce((sum, { cost }) => sum + cost, 0);
    expect(most).toBeLessThanOrEqual(3 + 1e-9);
    expect(done.some(({ refusals }) => refusals > 0)).toBe(true);
    const rows = await engine.db<{ subject: string; usd: number }[]>`select subject, usd from daily_costs`;
    const total = rows.find(({ subject }) => subject === "installation")?.usd;
    const ofKeys = rows
      .filter(({ subject }) => subject !== "installation")
      .reduce((sum, { usd }) => sum + usd, 0);
    expect([total, ofKeys]).toEqual([expect.closeTo(spent, 9), expect.closeTo(spent, 9)]);
  } finally {
    await Promise.all(others.map((db) => db.end()));
    await engine.stop();
  }
});

describe("on two servers", () => {
  let servers: TwoServers;
  beforeAll(async () => {
    servers = await twoServers({ OUTRIDER_MAX_COST_USD_PER_DAY: "5" });
  });
  afterAll(() => servers.stop());

  test("a key's budget reserved on one server is unavailable on the other, which also rejects its runs", async () => {
    const { first, bases } = servers;
    const make = async (body: object) =>
      (await first.call("POST", "/keys", { body: { name: "k", ...body } })).body.key;
    const key: string = await make({
      type: "personal",
      limits: { max_cost_usd_per_day: 1, max_concurrent_runs: 4 },
    });
    const workerKey: string = await make({ type: "worker" });
    const create = (base: string) =>
      first.call("POST", `${base}/agent/run`, { body: { prompt: "SAY: hello" }, key });
    const worker = { worker_id: randomUUID(), name: "w", version: "0", slots: 9 };
    await Promise.all(bases.map(create));
    const claim = { request_id: randomUUID(), worker, free: 2, wait_ms: 0 };
    const { executions } = (await first.call("POST", "/worker/claim", { body: claim, key: workerKey })).body;
    const replies = [];
    for (const [index, { run_id, execution_id }] of (executions as Assignment[]).entries()) {
      const body = { run_id, reservation_id: randomUUID(), cost_usd: 0, usd: 1 };
      const path = `${bases[index]}/worker/executions/${execution_id}/reserve`;
      replies.push((await first.call("POST", path, { body, key: workerKey })).body);
    }
    expect(replies).toEqual([
      { is_limited: true },
      { is_limited: true, refusal: expect.stringContaining("The run's key has a daily budget of $1.00") },
    ]);
    const refused = await create(bases[1]);
    expect([refused.status, refused.body.error_code]).toEqual([403, "budget_exceeded"]);
    const { quotas } = (await first.call("GET", `${bases[0]}/me`, { key })).body;
    const rate = { limit: 1_000_000, window_seconds: 60, resets_in_seconds: expect.any(Number) };
    // Units that the other server holds unused do not count as remaining.
    for (const { remaining } of [quotas.requests, quotas.creations]) {
      expect(remaining).toBeLessThanOrEqual(999_997);
      expect(remaining).toBeGreaterThan(999_970);
    }
    expect(quotas).toEqual({
      requests: { ...rate, remaining: expect.any(Number) },
      creations: { ...rate, remaining: expect.any(Number) },
      cost_per_day: {
        key: { limit_usd: 1, used_usd: 1, resets_at: expect.stringMatching(/T00:00:00\.000Z$/) },
        installation: { limit_usd: 5, used_usd: 1, resets_at: expect.any(String) },
      },
      concurrent_runs: { key: { limit: 4, active: 2 } },
    });
    const metrics = await first.call("GET", new URL("/metrics", bases[1]).href);
    expect(metrics.text).toContain('outrider_budget_refused_total{of="key",at="creation"} 1');
    expect(metrics.text).toContain('outrider_budget_refused_total{of="key",at="call"} 1');
  });
});
