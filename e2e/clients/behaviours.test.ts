import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWorld, type World } from "../../packages/worker/test/world.ts";
import type { Behaviour, Outcome } from "./behaviour.ts";
import { behaviours } from "./behaviours.ts";
import { type FaultProxy, startFaultProxy } from "./fault-proxy.ts";
import { playPython } from "./python.ts";
import { playTypescript, type Stage } from "./typescript.ts";

/** Who plays the table, by language. */
const players: Record<string, (stage: Stage) => Promise<Outcome[]>> = {
  TypeScript: playTypescript,
  Python: (stage) => playPython(stage, "sync"),
  "asynchronous Python": (stage) => playPython(stage, "async"),
};

let world: World;
let proxy: FaultProxy;

beforeAll(async () => {
  world = await startWorld();
  await world.worker();
  proxy = await startFaultProxy(world.origin);
});
afterAll(async () => {
  await proxy?.close();
  await world?.stop();
});

describe.each(Object.entries(players))("the %s SDK", (_, play) => {
  const outcomes = new Map<string, Outcome>();

  test("plays every behaviour", { timeout: 180_000 }, async () => {
    const stage = { server: world.origin, proxy: proxy.origin, key: world.key, behaviours };
    for (const outcome of await play(stage)) outcomes.set(outcome.name, outcome);
    expect([...outcomes.keys()]).toEqual(behaviours.map(({ name }) => name));
  });

  test.each(behaviours.map((each) => [each.name, each] as const))("%s", (name, behaviour) => {
    const outcome = outcomes.get(name);
    expect(outcome).toBeDefined();
    if (outcome) expectAsAsked(outcome, behaviour);
  });
});

function expectAsAsked({ name: _, elapsed_ms, ...told }: Outcome, behaviour: Behaviour): void {
  const { at_least_ms = 0, at_most_ms = Number.POSITIVE_INFINITY } = behaviour;
  const requests = behaviour.expect.requests < 0 ? told.requests : behaviour.expect.requests;
  expect(told).toEqual({ ...behaviour.expect, requests });
  expect(elapsed_ms).toBeGreaterThanOrEqual(at_least_ms);
  expect(elapsed_ms).toBeLessThanOrEqual(at_most_ms);
}

test("each behaviour has a name of its own", () => {
  expect(new Set(behaviours.map(({ name }) => name)).size).toBe(behaviours.length);
});
