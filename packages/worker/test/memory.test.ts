import { queryObjects } from "node:v8";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { waitOptions } from "../../../scripts/tests/wait-options.ts";
import { Execution } from "../src/run/execute.ts";
import { startTestInstallation, type TestInstallation } from "./installation.ts";

let installation: TestInstallation;
beforeAll(async () => {
  installation = await startTestInstallation();
  await installation.worker({ slots: 2 });
});
afterAll(() => installation?.stop());

test("a finished run is garbage-collected", async () => {
  // Warm sandboxes would keep their executions in memory.
  const config = { idle_timeout_minutes: 0 };
  const runs = await Promise.all(
    [1, 2, 3, 4].map((number) => installation.create([`RUN: echo ${number}`, "SAY: done"], { config })),
  );
  for (const run of runs) await installation.until(run, "SUCCEEDED");
  // queryObjects collects garbage first.
  await vi.waitFor(() => expect(queryObjects(Execution)).toBe(0), waitOptions);
});
