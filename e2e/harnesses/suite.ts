import type { KnownHarness } from "@outrider/contract/harness";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type BehaviorName, behaviors, versionOf } from "./behaviors.ts";
import { type HarnessInstallation, startHarnessInstallation } from "./installation.ts";
import { readRow, rowOf, writeRow } from "./table.ts";

interface HarnessOptions {
  /** Whether a session continues after its process is lost. Otherwise, the agent gets a summary. */
  canLoadSessions?: boolean;
  /** How many runs of the agent this machine can execute at the same time. */
  slots?: number;
  /** Behaviors that the agent cannot have, with the reason for the docs. */
  unsupported?: Partial<Record<BehaviorName, string>>;
}

const names = Object.keys(behaviors) as BehaviorName[];

/** Declares the tests of an agent: the same behaviors for all, and the row in the docs that they prove. */
export function testHarness(harness: KnownHarness, options: HarnessOptions = {}) {
  const { canLoadSessions = true, slots = 4, unsupported = {} } = options;

  describe(`the harness ${harness}:`, () => {
    let installation: HarnessInstallation;
    const passed = new Set<BehaviorName>();

    beforeAll(async () => {
      installation = await startHarnessInstallation(harness, { canLoadSessions, slots });
    });
    afterAll(() => installation?.stop());

    for (const name of names) {
      const { isParallel = false } = behaviors[name];
      test.skipIf(unsupported[name] !== undefined)(
        behaviors[name].name,
        { concurrent: isParallel && slots > 1 },
        async () => {
          await behaviors[name].test(installation);
          passed.add(name);
        },
      );
    }

    test("the docs have its row", async () => {
      const version = await versionOf(installation);
      const cells = names.map((name) => unsupported[name] ?? (passed.has(name) ? "✓" : "✗"));
      const row = rowOf(`${installation.title} ${version}`, cells);
      const columns = names.map((name) => behaviors[name].name);
      if (process.env.OUTRIDER_WRITE_DOCS === "1") writeRow(installation.title, { row, columns });
      expect(readRow(installation.title), "run this test with OUTRIDER_WRITE_DOCS=1").toBe(row);
    });
  });
}
