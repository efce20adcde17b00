import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RecordedRequest } from "../../../agent/test/stub-model/server.ts";
import { longSleep, outputOf, processesWith, waitForSleep } from "../installation.ts";
import {
  type AgentInstallation,
  dataOf,
  resultsIn,
  spokenIn,
  startAgentInstallation,
} from "./agent-support.ts";

/** Runs that are stopped by a limit or with their worker, and continue afterwards. */

let installation: AgentInstallation;
let worker: Awaited<ReturnType<AgentInstallation["agentWorker"]>>;
let environment_id: string;

beforeAll(async () => {
  installation = await startAgentInstallation({
    settings: {
      // A short default. Runs that need more time set their own limit.
      OUTRIDER_TURN_TIMEOUT_MINUTES: "0.3",
    },
  });
  worker = await installation.agentWorker();
  environment_id = await installation.environment(
    installation.repository("shop", { "README.md": "a shop\n" }),
  );
  const run = await installation.create(["SAY: built"], { config: { environment_id }, limits: long });
  await installation.until(run, "SUCCEEDED");
});
afterAll(() => installation?.stop());

const long = { timeout_minutes: 5 };
const begin = (script: string[], limits: object) =>
  installation.begin(script, { config: { environment_id }, limits });
/** Steps that each append to a file. */
const steps = (count: number) => Array.from({ length: count }, (_, n) => `RUN: echo ${n + 1} >> log`);
const traces = (count: number) => Array.from({ length: count }, (_, n) => `${n + 1}\n`).join("");

/** The last call of a turn at its limit has no tools and explains why. */
function expectWrapUp(request: RecordedRequest | undefined, what: string) {
  expect(request?.parsed.mayCall).toBe(false);
  expect(request && spokenIn(request).at(-1)).toMatch(
    new RegExp(`^\\[Outrider: wrap up\\] This turn has reached its ${what} limit\\.`),
  );
}

/** Continues with the rest of the script and checks that nothing was lost or repeated. */
async function goesOn(run: string, limits: object, count: number) {
  await installation.followUp(run, ["Go on.", "RUN: cat log"], { limits });
  const item = await installation.until(run, "SUCCEEDED");
  expect(item).toMatchObject({ turns: 2, attempts: 1 });
  expect(outputOf(await installation.events(run))).toBe(traces(count));
  expect((await installation.diff(run)).match(/^\+\d+$/gm)).toHaveLength(count);
  return item;
}

describe.concurrent("a turn at its limit gets a final message, keeps its work, and continues with a follow-up:", () => {
  test("max_steps", async () => {
    const { run, requests } = await begin(steps(5), { ...long, max_steps: 3 });
    const { status_message, usage } = await installation.until(run, "FAILED");
    expect(status_message).toMatchObject({ error_code: "step_limit_exceeded", remedy: expect.any(String) });
    expect(requests()).toHaveLength(4);
    expectWrapUp(requests().at(-1), "step");
    expect(usage.steps).toBe(4);
    const events = await installation.events(run);
    expect(dataOf(events, "message.agent").at(-1).text).toContain("2 calls are left undone");
    expect(dataOf(events, "notice").map(({ code }) => code)).toContain("step_limit_exceeded");
    expect((await installation.diff(run)).match(/^\+\d+$/gm)).toEqual(["+1", "+2", "+3"]);
    await goesOn(run, { max_steps: 20 }, 5);
  });

  test("max_cost_usd", async () => {
    const max_cost_usd = 0.3;
    const { run, requests } = await begin(steps(12), { ...long, max_cost_usd });
    const { status_message, usage } = await installation.until(run, "FAILED");
    expect(status_message).toMatchObject({ error_code: "budget_exceeded", remedy: expect.any(String) });
    expectWrapUp(requests().at(-1), "budget");
    const events = await installation.events(run);
    const costs = dataOf(events, "usage.updated").map(({ cost_usd }) => cost_usd as number);
    expect(costs).toHaveLength(requests().length);
    expect(costs).toEqual([...costs].sort((a, b) => a - b));
    expect(usage.cost_usd).toBe(costs.at(-1));
    // The limit was used up, and exceeded by less than one call.
    const most = Math.max(...costs.map((cost, index) => cost - (costs[index - 1] ?? 0)));
    expect(usage.cost_usd).toBeGreaterThan(max_cost_usd - 3 * most);
    expect(usage.cost_usd).toBeLessThan(max_cost_usd + most);
    const item = await goesOn(run, { max_cost_usd: 50 }, 12);
    expect(item.limits).toEqual({ ...long, max_cost_usd: 50 });
  });

  test("timeout", async () => {
    const { command, mark } = longSleep();
    const { run, requests } = await begin([...steps(2), `RUN: ${command}`], {});
    await waitForSleep(mark);
    const { status_message } = await installation.until(run, "FAILED");
    expect(status_message).toMatchObject({ error_code: "timeout", remedy: expect.any(String) });
    expect(processesWith(mark)).toEqual([]);
    expectWrapUp(requests().at(-1), "time");
    expect(resultsIn(requests().at(-1) as RecordedRequest).at(-1)).toBe("[stopped before it finished]");
    const events = await installation.events(run);
    expect(dataOf(events, "message.agent").at(-1).text).toContain("calls are left undone");
    await goesOn(run, long, 2);
  });
});

test("a run continues with the files of earlier turns after its worker is killed during a command", async () => {
  await worker.drain();
  const doomed = await installation.workerProcess("doomed", "--allow-addresses", installation.gitAddress);
  const config = { environment_id, idle_timeout_minutes: 0 };
  const { run, requests } = await installation.begin(["RUN: echo first >> log"], {
    config,
    limits: long,
  });
  await installation.until(run, "SUCCEEDED");

  const { command, mark } = longSleep();
  await installation.followUp(run, [
    "RUN: echo lost >> log",
    `RUN: echo begun, as can be seen; ${command}`,
    "RUN: cat log",
  ]);
  await waitForSleep(mark);
  // The redactor holds back the end of the output while it may be the beginning of a secret.
  await installation.event(
    run,
    ({ type, data }) => type === "command.output" && data.text.startsWith("begun"),
  );
  const asked = requests().length;
  await doomed.end("SIGKILL");
  await installation.expireLease(run);
  await installation.workerProcess("second", "--allow-addresses", installation.gitAddress);
  await installation.event(
    run,
    ({ type, attempt, turn }) => type === "run.claimed" && attempt === 2 && turn === 2,
  );
  // Two workers never execute the run at the same time.
  expect(processesWith(mark)).toEqual([]);
  const item = await installation.until(run, "SUCCEEDED");
  expect(item).toMatchObject({ turns: 2, attempts: 2, receipt: { worker: "second" } });

  const [next] = requests().slice(asked);
  expect(resultsIn(next as RecordedRequest).at(-1)).toMatch(/^Interrupted, outcome unknown/);
  // The files of the second turn were not stored yet, and the agent is informed about the lost work.
  const note = spokenIn(next as RecordedRequest).at(-1);
  expect(note).toMatch(/^\[Outrider: recovered\]/);
  expect(note).toContain("your last 1 finished tool calls");
  const events = await installation.events(run);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect(dataOf(events, "run.recovering")).toHaveLength(1);
  expect(outputOf(events)).toMatch(/^begun[\s\S]*first\n$/);
  expect(await installation.diff(run)).toMatch(/^\+first$/m);
  expect(await installation.diff(run)).not.toContain("lost");
});
