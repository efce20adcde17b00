import type { WorkerInfo } from "@outrider/contract/worker";
import { DEFAULT_POOL } from "@outrider/contract/worker-pool";
import type { WorkerPlace } from "../../store/dispatch/requirements.ts";

/** Returns the pool and the labels of a worker. Workers of an older version send neither. */
export function placeOf({ pool = DEFAULT_POOL, labels = {} }: WorkerInfo): WorkerPlace {
  return { pool, labels };
}

/** Returns a key that is the same for workers of the same pool with the same labels. */
export function placeKey(worker: WorkerInfo): string {
  const { pool, labels } = placeOf(worker);
  return JSON.stringify([pool, ...Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))]);
}
