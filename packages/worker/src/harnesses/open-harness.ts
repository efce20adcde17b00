import type { Assignment } from "@outrider/contract/worker";
import { type PrepareAcpOptions, prepareAcp } from "./acp/acp-harness.ts";
import { openBuiltin } from "./builtin.ts";
import type { PreparedHarness } from "./harness.ts";

/** Prepares the run's harness. Rejects with a Failure if it cannot be installed. */
export async function prepareHarness(
  assignment: Assignment,
  options: PrepareAcpOptions,
): Promise<PreparedHarness> {
  const { harness } = assignment;
  return harness ? prepareAcp(harness, options) : { open: openBuiltin };
}
