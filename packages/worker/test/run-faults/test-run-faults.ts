import { afterAll, beforeAll, describe, test } from "vitest";
import type { FaultyEngine } from "./faulty-engine.ts";
import { type FaultyInstallation, startFaultyInstallation } from "./faulty-installation.ts";

interface FaultTests<Engine extends FaultyEngine> {
  /** Whether this machine can start the engine. */
  isPossible: boolean;
  startEngine(): Promise<Engine>;
  /** By name: what fails, and how the run goes on. */
  faults: Record<string, (installation: FaultyInstallation, engine: Engine) => Promise<void>>;
}

/** Tests runs with an engine of their own, which the faults can kill. */
export function testRunFaults<Engine extends FaultyEngine>(
  name: string,
  { isPossible, startEngine, faults }: FaultTests<Engine>,
): void {
  describe.skipIf(!isPossible)(`a run with ${name} survives when faults`, () => {
    let engine: Engine;
    beforeAll(async () => {
      engine = await startEngine();
    });
    afterAll(() => engine?.stop());

    test.each(Object.keys(faults))("%s", async (fault) => {
      await faults[fault]?.(await startFaultyInstallation(engine), engine);
    });
  });
}
