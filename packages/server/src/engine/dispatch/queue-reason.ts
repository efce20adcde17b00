import type { RunItem } from "@outrider/contract/run";
import type { Sql } from "../../store/connection/db.ts";
import { listConcurrencyLimits } from "../../store/dispatch/active-runs.ts";
import { findQueuedRun, findQueuePosition } from "../../store/dispatch/leases.ts";
import { findCapacity } from "../../store/dispatch/workers.ts";
import { ALIVE_MS, type RunPolicy } from "../runs/run-policy.ts";

type Queue = NonNullable<RunItem["queue"]>;

/** Returns a queued run's position and the reason it is waiting. Returns undefined if the run is not queued. */
export async function getQueueStatus(sql: Sql, policy: RunPolicy, runId: string): Promise<Queue | undefined> {
  const queued = await findQueuedRun(sql, runId);
  if (!queued) return undefined;
  const position = await findQueuePosition(sql, runId);
  const limits = await listConcurrencyLimits(sql, queued, policy.maxConcurrentRuns);
  const reached = limits.find(({ active, max }) => active >= max);
  if (reached) return { position, reason: `${reached.kind}_limit` };
  const { needs_harness: needsHarness } = queued;
  const { workers, free } = await findCapacity(sql, { aliveMs: ALIVE_MS, needsHarness });
  if (workers === 0) {
    const others = needsHarness && (await findCapacity(sql, { aliveMs: ALIVE_MS, needsHarness: false }));
    return { position, reason: others && others.workers > 0 ? "no_harness_worker" : "no_worker" };
  }
  return free === 0 ? { position, reason: "workers_busy" } : { position };
}
