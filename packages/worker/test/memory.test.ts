import { queryObjects } from "node:v8";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { Execution } from "../src/execute.ts";
import { patience, startWorld, type World } from "./world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld();
  await world.worker({ slots: 2 });
});
afterAll(() => world?.stop());

test("a run that has ended leaves nothing of itself in its worker's memory", async () => {
  // Sandboxes that wait for a follow-up would each keep theirs, as many as there are slots.
  const config = { idle_timeout_minutes: 0 };
  const runs = await Promise.all(
    [1, 2, 3, 4].map((number) => world.create([`RUN: echo ${number}`, "SAY: done"], { config })),
  );
  for (const run of runs) await world.until(run, "SUCCEEDED");
  // Each look collects garbage first.
  await vi.waitFor(() => expect(queryObjects(Execution)).toBe(0), patience);
});
