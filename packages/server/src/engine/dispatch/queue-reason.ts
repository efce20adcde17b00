import type { RunItem } from "@outrider/contract/run";
import type { Sql } from "../../store/connection/db.ts";
import { listConcurrencyLimits } from "../../store/dispatch/active-runs.ts";
import { findQueuedRun, findQueuePosition } from "../../store/dispatch/leases.ts";
import { ownLabels, type Requirement, SANDBOX_LABEL } from "../../store/dispatch/requirements.ts";
import { findCapacity, hasReadyWorker } from "../../store/dispatch/workers.ts";
import { ALIVE_MS, type RunPolicy } from "../runs/run-policy.ts";

const notReady =
  "The workers that it can use accept no runs now, because their container engine or cluster does not respond or their disk is low on space.";

type Queue = NonNullable<RunItem["queue"]>;

/** Returns a queued run's position and the reason it is waiting. Returns undefined if the run is not queued. */
export async function getQueueStatus(sql: Sql, policy: RunPolicy, runId: string): Promise<Queue | undefined> {
  const queued = await findQueuedRun(sql, runId);
  if (!queued) return undefined;
  const position = await findQueuePosition(sql, runId);
  const limits = await listConcurrencyLimits(sql, queued, policy.maxConcurrentRuns);
  const reached = limits.find(({ active, max }) => active >= max);
  if (reached) return { position, reason: `${reached.kind}_limit` };
  const { requirement } = queued;
  const capacity = (required?: Requirement) =>
    findCapacity(sql, { aliveMs: ALIVE_MS, ...(required ? { requirement: required } : {}) });
  const { workers, free } = await capacity(requirement);
  if (workers > 0 && !(await hasReadyWorker(sql, { aliveMs: ALIVE_MS, requirement })))
    return { position, reason: "no_ready_worker", detail: notReady };
  if (workers > 0) return free === 0 ? { position, reason: "workers_busy" } : { position };
  if ((await capacity()).workers === 0) return { position, reason: "no_worker" };
  const isMatched = (await capacity({ ...requirement, needsHarness: false })).workers > 0;
  if (isMatched) return { position, reason: "no_harness_worker" };
  return { position, reason: "no_matching_worker", detail: describeRequirement(requirement) };
}

function describeRequirement({ pool, selector }: Requirement): string {
  const { [SANDBOX_LABEL]: sandbox } = selector;
  const labels = Object.entries(ownLabels(selector))
    .map(([name, value]) => `\`${name}=${value}\``)
    .sort();
  const needs = [
    ...(labels.length > 0
      ? [`${labels.length === 1 ? "the label" : "the labels"} ${labels.join(", ")}`]
      : []),
    ...(sandbox ? [`sandboxes of the kind \`${sandbox}\``] : []),
  ];
  if (needs.length === 0) return `No connected worker is in the pool \`${pool}\`.`;
  return `No connected worker of the pool \`${pool}\` has ${needs.join(" and ")}.`;
}
