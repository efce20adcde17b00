import { createHash } from "node:crypto";

/**
 * Returns a name for an execution that the run's commands may see, and therefore everyone who reads its transcript. The
 * execution ID itself must stay between the worker and the server, because it is the run's fencing token. It cannot be
 * derived from its hash.
 */
export function executionLabel(executionId: string): string {
  return createHash("sha256").update(`label ${executionId}`).digest("hex").slice(0, 32);
}
