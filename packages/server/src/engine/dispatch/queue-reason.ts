import type { RunItem } from "@outrider/contract/run";
import type { Sql } from "../../store/connection/db.ts";
import {
  countBusy,
  findDimensions,
  findQueuePosition,
  listConcurrencyLimits,
} from "../../store/dispatch/leases.ts";
import { findCapacity } from "../../store/dispatch/workers.ts";
import { ALIVE_MS, type RunPolicy } from "../runs/run-policy.ts";
import { Concurrency } from "./concurrency.ts";

type Queue = NonNullable<RunItem["queue"]>;

/** Returns a queued run's position and the reason it is waiting. Returns undefined if the run is not queued. */
export async function getQueueStatus(sql: Sql, policy: RunPolicy, runId: string): Promise<Queue | undefined> {
  const dimensions = await findDimensions(sql, runId);
  if (!dimensions) return undefined;
  const position = await findQueuePosition(sql, runId);
  const concurrency = new Concurrency({
    limits: await listConcurrencyLimits(sql),
    busy: await countBusy(sql),
    total: policy.maxConcurrentRuns,
  });
  const [kind] = concurrency.blockedBy(dimensions)?.split(" ") ?? [];
  if (kind) return { position, reason: `${kind}_limit` as Queue["reason"] & string };
  const { workers, free } = await findCapacity(sql, ALIVE_MS);
  if (workers === 0) return { position, reason: "no_worker" };
  return free === 0 ? { position, reason: "workers_busy" } : { position };
}
