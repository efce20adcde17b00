import { afterAll, beforeAll, describe, test } from "vitest";
import { canRunEngines } from "../test-engine.ts";
import { faults } from "./faults.ts";
import { startFaultyEngine, startFaultyInstallation } from "./faulty-installation.ts";

/** Tests a run with containers in an engine of its own, which the faults can kill. */
export function testRunFaults(names: (keyof typeof faults)[]): void {
  describe.skipIf(!canRunEngines)("a run with containers survives when faults", () => {
    let own: Awaited<ReturnType<typeof startFaultyEngine>>;
    beforeAll(async () => {
      own = await startFaultyEngine();
    });
    afterAll(() => own?.engine.stop());

    test.each(names)("%s", async (name) => {
      await faults[name](await startFaultyInstallation(own));
    });
  });
}
