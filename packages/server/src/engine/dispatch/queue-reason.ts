import type { RunItem } from "@outrider/contract/run";
import type { Sql } from "../../store/connection/db.ts";
import {
  countBusy,
  findQueuedRun,
  findQueuePosition,
  listConcurrencyLimits,
} from "../../store/dispatch/leases.ts";
import { findCapacity } from "../../store/dispatch/workers.ts";
import { ALIVE_MS, type RunPolicy } from "../runs/run-policy.ts";
import { Concurrency } from "./concurrency.ts";

type Queue = NonNullable<RunItem["queue"]>;

/** Returns a queued run's position and the reason it is waiting. Returns undefined if the run is not queued. */
export async function getQueueStatus(sql: Sql, policy: RunPolicy, runId: string): Promise<Queue | undefined> {
  const queued = await findQueuedRun(sql, runId);
  if (!queued) return undefined;
  const position = await findQueuePosition(sql, runId);
  const concurrency = new Concurrency({
    limits: await listConcurrencyLimits(sql),
    busy: await countBusy(sql),
    total: policy.maxConcurrentRuns,
  });
  const [kind] = concurrency.blockedBy(queued)?.split(" ") ?? [];
  if (kind) return { position, reason: `${kind}_limit` as Queue["reason"] & string };
  const { needs_harness: needsHarness } = queued;
  const { workers, free } = await findCapacity(sql, { aliveMs: ALIVE_MS, needsHarness });
  if (workers === 0) {
    const others = needsHarness && (await findCapacity(sql, { aliveMs: ALIVE_MS, needsHarness: false }));
    return { position, reason: others && others.workers > 0 ? "no_harness_worker" : "no_worker" };
  }
  return free === 0 ? { position, reason: "workers_busy" } : { position };
}
