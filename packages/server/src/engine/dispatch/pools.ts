import { DEFAULT_SANDBOX } from "@outrider/contract/sandbox-kind";
import type { ClaimRequest, WorkerInfo } from "@outrider/contract/worker";
import { DEFAULT_POOL, type WorkerLabels } from "@outrider/contract/worker-pool";
import { type Requirement, SANDBOX_LABEL, type WorkerPlace } from "../../store/dispatch/requirements.ts";

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

/** What the worker of a claim offers to runs. */
export interface Offering {
  pool: string;
  /** Include the kind of its sandboxes. */
  labels: WorkerLabels;
  takesHarnesses: boolean;
}

export function offeringOf({
  worker,
  takes_harnesses,
}: Pick<ClaimRequest, "worker" | "takes_harnesses">): Offering {
  const { pool, labels } = placeOf(worker);
  return { pool, labels, takesHarnesses: takes_harnesses === true };
}

/** Whether a worker satisfies the requirements of a run. */
export function canTake(
  { pool: own, labels, takesHarnesses }: Offering,
  { pool = DEFAULT_POOL, selector = {}, needsHarness = false }: Partial<Requirement>,
): boolean {
  return (
    (!needsHarness || takesHarnesses) &&
    own === pool &&
    Object.entries(selector).every(([name, value]) => labels[name] === value)
  );
}
