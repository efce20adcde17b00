import { afterAll, beforeAll, expect, test } from "vitest";
import { type AgentInstallation, dataOf, startAgentInstallation } from "../agent/agent-support.ts";

const LIMIT = 1.2;
let installation: AgentInstallation;
beforeAll(async () => {
  installation = await startAgentInstallation({ settings: { OUTRIDER_MAX_COST_USD_PER_DAY: String(LIMIT) } });
  await Promise.all([installation.agentWorker(), installation.agentWorker()]);
});
afterAll(() => installation?.stop());

test("runs of several workers share the daily budget and keep their work when it is spent", async () => {
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
