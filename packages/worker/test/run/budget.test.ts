import { randomUUID } from "node:crypto";
import type { Assignment } from "@outrider/contract/worker";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Budget } from "../../src/run/budget.ts";
import { connectToServer } from "../../src/server-client/server-client.ts";
import { type AgentInstallation, dataOf, startAgentInstallation } from "../agent/agent-support.ts";

const LIMIT = 1.2;
let installation: AgentInstallation;
beforeAll(async () => {
  installation = await startAgentInstallation({ settings: { OUTRIDER_MAX_COST_USD_PER_DAY: String(LIMIT) } });
});
afterAll(() => installation?.stop());

test("one reservation covers all calls of a run that are under way", async () => {
  const server = connectToServer({ url: installation.origin, key: installation.workerKey });
  const worker = { worker_id: randomUUID(), name: "test", version: "0", slots: 1 };
  const { signal } = new AbortController();
  await installation.begin(["SAY: hello"]);
  const { executions } = await server.claim(
    { request_id: randomUUID(), worker, free: 1, wait_ms: 0 },
    signal,
  );
  const assignment = executions[0] as Assignment;
  const budget = new Budget({ server, assignment, signal });
  const used = async () => {
    await budget.settled();
    const [row] = await installation.db<{ usd: number }[]>`select usd from daily_costs`;
    return Number(row?.usd.toFixed(9));
  };
  const [first, second] = await Promise.all([budget.reserve(0.5, 0), budget.reserve(0.25, 0)]);
  expect(await used()).toBe(0.75);
  // The calls under way keep their reservation when another one is refused.
  expect(await budget.reserve(0.5, 0)).toMatch(/^The installation has a daily budget of \$1\.20/);
  expect(await used()).toBe(0.75);
  if (typeof first === "string" || typeof second === "string") throw new Error("Nothing is reserved.");
  first.settle(0.1);
  const third = await budget.reserve(0.5, 0.1);
  if (typeof third === "string") throw new Error(third);
  expect(await used()).toBe(0.85);
  third.settle(0.2);
  // A call that ends later can report a lower cost, because it was counted before.
  second.settle(0.15);
  expect(await used()).toBe(0.2);
  const outcome = { type: "failed", error_code: "internal_error", message: "Over." } as const;
  const { execution_id, run_id, usage } = assignment;
  await server.finish(
    execution_id,
    { run_id, batch: 1, events: [], usage, phase: "working", outcome },
    signal,
  );
  server.stop();
  await installation.db`delete from daily_costs`;
});

test("runs of several workers share the daily budget and keep their work when it is spent", async () => {
  await Promise.all([installation.agentWorker(), installation.agentWorker()]);
  const script = Array.from({ length: 40 }, (_, n) => `RUN: echo ${n + 1} >> log`);
  const runs = await Promise.all([1, 2, 3].map(() => installation.begin(script)));
  const ended = await Promise.all(runs.map(({ run }) => installation.until(run, "FAILED")));
  let spent = 0;
  for (const { run_id, status_message, usage } of ended) {
    expect(status_message).toMatchObject({
      error_code: "budget_exceeded",
      message: expect.stringMatching(/^The installation has a daily budget of \$1\.20/),
    });
    spent += usage.cost_usd;
    const steps = dataOf(await installation.events(run_id), "command.finished").length;
    expect(steps).toBe(usage.steps);
  }
  expect(ended.some(({ usage }) => usage.steps > 0)).toBe(true);
  expect(spent).toBeGreaterThan(0.3 * LIMIT);
  expect(spent).toBeLessThanOrEqual(LIMIT);
  const [row] = await installation.db<{ usd: number }[]>`select usd from daily_costs`;
  expect(row?.usd).toBeCloseTo(spent, 9);
});
