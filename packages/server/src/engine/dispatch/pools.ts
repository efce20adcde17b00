import { DEFAULT_SANDBOX } from "@outrider/contract/sandbox-kind";
import type { WorkerInfo } from "@outrider/contract/worker";
import { DEFAULT_POOL } from "@outrider/contract/worker-pool";
import { SANDBOX_LABEL, type WorkerPlace } from "../../store/dispatch/requirements.ts";

/** Returns the pool, the labels and the kind of sandboxes of a worker. Workers of an older version send none of them. */
export function placeOf({
  pool = DEFAULT_POOL,
  labels = {},
  sandbox = DEFAULT_SANDBOX,
}: WorkerInfo): WorkerPlace {
  return { pool, labels: { ...labels, [SANDBOX_LABEL]: sandbox }, sandbox };
}

/** Returns a key that is the same for workers of the same pool with the same labels and kind of sandboxes. */
export function placeKey(worker: WorkerInfo): string {
  const { pool, labels } = placeOf(worker);
  return JSON.stringify([pool, ...Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))]);
}
