import { expect, test } from "vitest";
import { describeLimitEvents } from "../../src/sandboxes/describe-limit-events.ts";
import type { Sandbox } from "../../src/sandboxes/sandbox.ts";
import { testOutOfMemory } from "../conformance/out-of-memory.ts";
import { localPlaces } from "./local-places.ts";

for (const place of localPlaces) testOutOfMemory(place);

test("limits that the worker does not enforce are named without a number", async () => {
  const enforcement = { enforced: false, reason: "a test" } as const;
  const enforced = { memory: enforcement, pids: enforcement } as Sandbox["enforced"];
  const sandbox = { enforced, limitEvents: async () => ({ oom_kills: 1, forks_refused: 2 }) };
  const { lines, advice } = await describeLimitEvents(sandbox, { oom_kills: 0, forks_refused: 0 });
  expect(lines).toBe(
    "outrider: a process was killed because the machine of the sandbox had no memory left.\n" +
      "outrider: the sandbox reached the limit of processes of its machine.\n",
  );
  expect(advice).toBe(
    "A process was killed because the machine of the sandbox had no memory left. Use less memory, or a machine with more. " +
      "The sandbox reached the limit of processes of its machine. Start fewer processes.",
  );
});
