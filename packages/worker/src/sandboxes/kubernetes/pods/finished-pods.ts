import type { V1Pod } from "@kubernetes/client-node";
import type { Log } from "../../../log.ts";
import { mainWorkerOf, type Owner } from "../../owner.ts";
import type { Cluster } from "../cluster/connect.ts";
import {
  labelNames,
  managedLabels,
  networkProbeComponent,
  parseMetadata,
  sandboxComponent,
} from "../labels.ts";

/** How long the pod of a sandbox is kept after its end, because its worker reads there why it has ended. */
const keepMs = 15 * 60_000;
/** No worker waits longer for the start of a pod, so a pod that has not started has no worker any more. */
const maxStartMs = 60 * 60_000;
const components = new Set<string | undefined>([sandboxComponent, networkProbeComponent]);

interface RemoveResources {
  cluster: Pick<Cluster, "listPods" | "deletePod">;
  owner: Pick<Owner, "installation">;
  log: Pick<Log, "warn">;
}

interface RemoveOptions {
  /** The ids of this process's open sandboxes, whose next command says why their pod has ended. */
  open: ReadonlySet<string>;
  endedBefore?: number;
}

/**
 * Removes pods of sandboxes that ended long ago or never started, of all workers of the installation. The cluster removes pods
 * with that of their worker only in the same namespace, and other workers cannot tell whether a worker will come back for its
 * pods. Nothing runs in them.
 *
 * This includes pods that an isolated run could not remove before its process exited: they end with their lease.
 */
export async function removeFinishedPods(
  { cluster, owner, log }: RemoveResources,
  { open, endedBefore = Date.now() - keepMs }: RemoveOptions,
): Promise<void> {
  for (const pod of await cluster.listPods(managedLabels)) {
    const labels = pod.metadata?.labels ?? {};
    if (!components.has(labels[labelNames.component]) || !isOfInstallation(owner, labels)) continue;
    const name = pod.metadata?.name;
    const endedAt = findEnd(pod);
    if (name === undefined || endedAt === undefined || endedAt >= endedBefore) continue;
    if (open.has(parseMetadata(pod.metadata ?? {}).sandbox)) continue;
    try {
      await cluster.deletePod(name);
    } catch (error) {
      log.warn({ pod: name, error }, "failed to remove finished pod");
    }
  }
}

/** Pods of a worker that did not know its installation count as pods of all installations. */
function isOfInstallation(owner: Pick<Owner, "installation">, labels: Record<string, string>): boolean {
  const { [labelNames.installation]: installation, [labelNames.worker]: worker = "" } = labels;
  return installation === owner.installation || installation === mainWorkerOf(worker);
}

/**
 * Returns when a pod ended, or the latest time that its status names. One that has not started ends when no worker waits for
 * it. Undefined if it has not ended.
 */
export function findEnd({ metadata, status }: V1Pod): number | undefined {
  if (status?.phase === "Pending" && metadata?.creationTimestamp)
    return new Date(metadata.creationTimestamp).getTime() + maxStartMs;
  if (status?.phase !== "Succeeded" && status?.phase !== "Failed") return undefined;
  const times = [
    metadata?.creationTimestamp,
    ...(status.conditions ?? []).map(({ lastTransitionTime }) => lastTransitionTime),
    ...(status.containerStatuses ?? []).map(({ state }) => state?.terminated?.finishedAt),
  ];
  return Math.max(...times.map((time) => (time === undefined ? 0 : new Date(time).getTime())));
}
