import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { RecordedRequest } from "../../agent/test/stub-model/server.ts";
import { type AgentWorld, dataOf, outputOf, resultsIn, spokenIn, startAgentWorld } from "./agent-support.ts";
import { asleep, longSleep, processesWith } from "./world.ts";

/** Runs that are stopped in their work, softly by a limit or hard with their worker, and go on afterwards. */

vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });

let world: AgentWorld;
let worker: Awaited<ReturnType<AgentWorld["agentWorker"]>>;
let environment_id: string;

beforeAll(async () => {
  world = await startAgentWorld({
    settings: {
      // Less than a run may ask for itself; runs that shall have more time say so.
      OUTRIDER_TURN_TIMEOUT_MINUTES: "0.3",
      OUTRIDER_LEASE_SECONDS: "4",
      OUTRIDER_LEASE_GRACE_SECONDS: "1",
    },
  });
  worker = await world.agentWorker();
  environment_id = await world.environment(world.repository("shop", { "README.md": "a shop\n" }));
  const run = await world.create(["SAY: built"], { config: { environment_id }, limits: long });
  await world.until(run, "SUCCEEDED");
});
afterAll(() => world?.stop());

const long = { timeout_minutes: 5 };
const begin = (script: string[], limits: object) =>
  world.begin(script, { config: { environment_id }, limits });
/** So many steps, of which each leaves its trace. */
const steps = (count: number) => Array.from({ length: count }, (_, n) => `RUN: echo ${n + 1} >> shop/log`);
const traces = (count: number) => Array.from({ length: count }, (_, n) => `${n + 1}\n`).join("");

/** The last call of a turn at its limit: no tools, and a word why. */
function expectWrapUp(request: RecordedRequest | undefined, what: string) {
  expect(request?.heard.mayCall).toBe(false);
  expect(request && spokenIn(request).at(-1)).toMatch(
    new RegExp(`^\\[Outrider: wrap up\\] This turn has used up its ${what}\\.`),
  );
}

/** Goes on with what was left of the script, and shows that nothing was lost or done twice. */
async function goesOn(run: string, limits: object, count: number) {
  await world.followUp(run, ["Go on.", "RUN: cat shop/log"], { limits });
  const item = await world.until(run, "SUCCEEDED");
  expect(item).toMatchObject({ turns: 2, attempts: 1 });
  expect(outputOf(await world.events(run))).toBe(traces(count));
  expect((await world.diff(run)).match(/^\+\d+$/gm)).toHaveLength(count);
  return item;
}

describe.concurrent("a turn at its limit lets the agent speak once more, keeps its work, and a follow-up goes on:", () => {
  test("max_steps", async () => {
    const { run, requests } = await begin(steps(5), { ...long, max_steps: 3 });
    const { status_message, usage } = await world.until(run, "FAILED");
    expect(status_message).toMatchObject({ error_code: "step_limit_exceeded", remedy: expect.any(String) });
    expect(requests()).toHaveLength(4);
    expectWrapUp(requests().at(-1), "number of steps");
    expect(usage.steps).toBe(4);
    const events = await world.events(run);
    expect(dataOf(events, "message.agent").at(-1).text).toContain("2 calls are left undone");
    expect(dataOf(events, "notice").map(({ code }) => code)).toContain("step_limit_exceeded");
    expect((await world.diff(run)).match(/^\+\d+$/gm)).toEqual(["+1", "+2", "+3"]);
    await goesOn(run, { max_steps: 20 }, 5);
  });

  test("max_cost_usd", async () => {
    const max_cost_usd = 0.3;
    const { run, requests } = await begin(steps(12), { ...long, max_cost_usd });
    const { status_message, usage } = await world.until(run, "FAILED");
    expect(status_message).toMatchObject({ error_code: "budget_exceeded", remedy: expect.any(String) });
    expectWrapUp(requests().at(-1), "budget");
    const events = await world.events(run);
    const costs = dataOf(events, "usage.updated").map(({ cost_usd }) => cost_usd as number);
    expect(costs).toHaveLength(requests().length);
    expect(costs).toEqual([...costs].sort((a, b) => a - b));
    expect(usage.cost_usd).toBe(costs.at(-1));
    // It was used, and held to within one call.
    const most = Math.max(...costs.map((cost, index) => cost - (costs[index - 1] ?? 0)));
    expect(usage.cost_usd).toBeGreaterThan(max_cost_usd - 3 * most);
    expect(usage.cost_usd).toBeLessThan(max_cost_usd + most);
    const item = await goesOn(run, { max_cost_usd: 50 }, 12);
    expect(item.limits).toEqual({ ...long, max_cost_usd: 50 });
  });

  test("its time", async () => {
    const { command, mark } = longSleep();
    const { run, requests } = await begin([...steps(2), `RUN: ${command}`], {});
    await asleep(mark);
    const { status_message } = await world.until(run, "FAILED");
    expect(status_message).toMatchObject({ error_code: "timeout", remedy: expect.any(String) });
    expect(processesWith(mark)).toEqual([]);
    expectWrapUp(requests().at(-1), "time");
    expect(resultsIn(requests().at(-1) as RecordedRequest).at(-1)).toBe("[stopped before its end]");
    const events = await world.events(run);
    expect(dataOf(events, "message.agent").at(-1).text).toContain("calls are left undone");
    await goesOn(run, long, 2);
  });
});

test("a run goes on after kill -9 of its worker in the middle of a command, with what earlier turns left", async () => {
  await worker.drain();
  const doomed = await world.workerProcess("doomed", "--allow-addresses", world.gitAddress);
  const config = { environment_id, idle_timeout_minutes: 0 };
  const { run, requests } = await world.begin(["RUN: echo first >> shop/log"], { config, limits: long });
  await world.until(run, "SUCCEEDED");

  const { command, mark } = longSleep();
  await world.followUp(run, [
    "RUN: echo lost >> shop/log",
    `RUN: echo begun, as can be seen; ${command}`,
    "RUN: cat shop/log",
  ]);
  await asleep(mark);
  // The end of what a command says is held back for as long as it may be the beginning of a secret.
  await world.event(run, ({ type, data }) => type === "command.output" && data.text.startsWith("begun"));
  const asked = requests().length;
  await doomed.end("SIGKILL");
  await world.workerProcess("second", "--allow-addresses", world.gitAddress);
  await world.event(run, ({ type, attempt, turn }) => type === "run.claimed" && attempt === 2 && turn === 2);
  // Two never work at the same time.
  expect(processesWith(mark)).toEqual([]);
  const item = await world.until(run, "SUCCEEDED");
  expect(item).toMatchObject({ turns: 2, attempts: 2, receipt: { worker: "second" } });

  const [next] = requests().slice(asked);
  expect(resultsIn(next as RecordedRequest).at(-1)).toMatch(/^Interrupted, outcome unknown/);
  // What the second turn did to files was not stored yet: the agent is told how much of its work that is.
  const note = spokenIn(next as RecordedRequest).at(-1);
  expect(note).toMatch(/^\[Outrider: recovered\]/);
  expect(note).toContain("your last 1 finished tool calls");
  const events = await world.events(run);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect(dataOf(events, "run.recovering")).toHaveLength(1);
  expect(outputOf(events)).toMatch(/^begun.*first\n$/);
  expect(await world.diff(run)).toMatch(/^\+first$/m);
  expect(await world.diff(run)).not.toContain("lost");
});
