import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type AgentWorld, dataOf, startAgentWorld } from "./agent-support.ts";

vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });

const LIMIT = 1.2;
let world: AgentWorld;
beforeAll(async () => {
  world = await startAgentWorld({ settings: { OUTRIDER_MAX_COST_USD_PER_DAY: String(LIMIT) } });
  await Promise.all([world.agentWorker(), world.agentWorker()]);
});
afterAll(() => world?.stop());

test("runs of several workers share the day's dollars: each ends with its work kept when they are used up", async () => {
  const script = Array.from({ length: 40 }, (_, n) => `RUN: echo ${n + 1} >> log`);
  const runs = await Promise.all([1, 2, 3].map(() => world.begin(script)));
  const ended = await Promise.all(runs.map(({ run }) => world.until(run, "FAILED")));
  let spent = 0;
  for (const { run_id, status_message, usage } of ended) {
    expect(status_message).toMatchObject({
      error_code: "budget_exceeded",
      message: expect.stringMatching(/^The installation may spend \$1\.20 a day/),
    });
    spent += usage.cost_usd;
    const steps = dataOf(await world.events(run_id), "command.finished").length;
    expect(steps).toBe(usage.steps);
  }
  expect(ended.some(({ usage }) => usage.steps > 0)).toBe(true);
  expect(spent).toBeGreaterThan(0.3 * LIMIT);
  expect(spent).toBeLessThanOrEqual(LIMIT);
  const [row] = await world.db<{ usd: number }[]>`select usd from daily_costs`;
  expect(row?.usd).toBeCloseTo(spent, 9);
});
