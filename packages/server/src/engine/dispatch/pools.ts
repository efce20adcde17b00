import type { WorkerInfo } from "@outrider/contract/worker";

/** The pool of workers that name none, and of runs that require none. */
export const DEFAULT_POOL = "default";

/** The pool and the labels of a worker. Workers of an older version send neither. */
export function placeOf(worker: WorkerInfo & { pool?: string; labels?: Record<string, string> }): {
  pool: string;
  labels: Record<string, string>;
} {
  return { pool: worker.pool ?? DEFAULT_POOL, labels: worker.labels ?? {} };
}

/** What a run requires of its worker. */
export interface Requirement {
  pool?: string | undefined;
  selector?: Record<string, string> | undefined;
  needsHarness?: boolean | undefined;
}
