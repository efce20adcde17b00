import { openBuiltin } from "./builtin.ts";
import type { Harness, HarnessOptions } from "./harness.ts";

/** Opens the run's harness. Rejects with a Failure if something that the run needs is not available. */
export async function openHarness(options: HarnessOptions): Promise<Harness> {
  return await openBuiltin(options);
}
