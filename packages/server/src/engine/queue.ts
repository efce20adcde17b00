import type { RunItem } from "@outrider/contract/run";
import type { Sql } from "../store/db.ts";
import { countBusy, findDimensions, listConcurrencyLimits, placeInQueue } from "../store/leases.ts";
import { findCapacity } from "../store/workers.ts";
import { Concurrency } from "./limits.ts";
import { ALIVE_MS, type Rules } from "./rules.ts";

type Queue = NonNullable<RunItem["queue"]>;

/** How far a waiting run has to go, and what it waits for. */
export async function queueOf(sql: Sql, rules: Rules, runId: string): Promise<Queue | undefined> {
  const dimensions = await findDimensions(sql, runId);
  if (!dimensions) return undefined;
  const position = await placeInQueue(sql, runId);
  const concurrency = new Concurrency({
    limits: await listConcurrencyLimits(sql),
    busy: await countBusy(sql),
    total: rules.maxConcurrentRuns,
  });
  const [kind] = concurrency.heldBackBy(dimensions)?.split(" ") ?? [];
  if (kind) return { position, reason: `${kind}_limit` as Queue["reason"] & string };
  const { workers, free } = await findCapacity(sql, ALIVE_MS);
  if (workers === 0) return { position, reason: "no_worker" };
  return free === 0 ? { position, reason: "workers_busy" } : { position };
}
