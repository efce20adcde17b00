import type { Assignment } from "@outrider/contract/worker";
import type { SandboxAdditions } from "../workspace/gateway-forward.ts";
import { openBuiltin } from "./builtin.ts";
import type { Harness, HarnessOptions } from "./harness.ts";
import type { HarnessInstaller } from "./install/harness-installer.ts";

/** A harness whose programs are on this worker, before the run's sandbox opens. */
export interface PreparedHarness {
  additions?: SandboxAdditions;
  /** Opens the harness. Rejects with a Failure if something that the run needs is not available. */
  open(options: HarnessOptions): Promise<Harness>;
}

/** Prepares the run's harness. Rejects with a Failure if it cannot be installed. */
export async function prepareHarness(_options: {
  assignment: Assignment;
  installer: HarnessInstaller;
  signal: AbortSignal;
}): Promise<PreparedHarness> {
  return { open: openBuiltin };
}
