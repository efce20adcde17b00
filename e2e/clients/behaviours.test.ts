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
const proxies: FaultProxy[] = [];
const plays = new Map<string, Promise<Outcome[]>>();

/** They play beside each other, each through a proxy of its own: most of the table is waiting. */
beforeAll(async () => {
  world = await startWorld();
  await world.worker();
  for (const [name, play] of Object.entries(players)) {
    const proxy = await startFaultProxy(world.origin);
    proxies.push(proxy);
    const played = play({ server: world.origin, proxy: proxy.origin, key: world.key, behaviours });
    // Who fails is told by the test that waits for it.
    played.catch(() => {});
    plays.set(name, played);
  }
});
afterAll(async () => {
  await Promise.all(proxies.map((proxy) => proxy.close()));
  await world?.stop();
});

describe.each(Object.keys(players))("the %s SDK", (player) => {
  const outcomes = new Map<string, Outcome>();

  test("plays every behaviour", { timeout: 180_000 }, async () => {
    for (const outcome of (await plays.get(player)) ?? []) outcomes.set(outcome.name, outcome);
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
