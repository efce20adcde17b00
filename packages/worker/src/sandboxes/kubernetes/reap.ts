import { isOwnWorker } from "../owner.ts";
import type { Label } from "../sandbox.ts";
import { labelNames, managedLabels, networkProbeComponent, parseMetadata } from "./labels.ts";
import type { SharedResources } from "./shared-resources.ts";

interface ReapOptions {
  keep(label: Label): boolean;
  /** The ids of open sandboxes. */
  open: ReadonlySet<string>;
  /** Whether to remove those of the worker's isolated runs too. */
  withIsolated: boolean;
}

interface ReapResources {
  cluster: Pick<SharedResources["cluster"], "listPods" | "deletePod">;
  owner: SharedResources["owner"];
  log: Pick<SharedResources["log"], "warn">;
}

/** Removes the pods of this worker's sandboxes, except open ones and those to keep. Returns the ids of the sandboxes. */
export async function reap(
  { cluster, owner, log }: ReapResources,
  { keep, open, withIsolated }: ReapOptions,
): Promise<string[]> {
  const removed: string[] = [];
  // The worker's name is unique. Its pods may be of a time when it did not know its installation yet.
  for (const { metadata = {} } of await cluster.listPods(managedLabels)) {
    // It ends by itself.
    if (metadata.labels?.[labelNames.component] === networkProbeComponent) continue;
    if (!isOwnWorker(owner, metadata.labels?.[labelNames.worker], { withIsolated })) continue;
    const { sandbox, label } = parseMetadata(metadata);
    if (open.has(sandbox) || keep(label) || metadata.name === undefined) continue;
    try {
      await cluster.deletePod(metadata.name);
      removed.push(sandbox);
    } catch (error) {
      log.warn({ id: sandbox, error }, "failed to remove leftover sandbox");
    }
  }
  return removed;
}

/** Removes the pods of this worker's sandboxes with these ids. */
export async function removeSandboxes(
  { cluster, owner }: Omit<ReapResources, "log">,
  ids: ReadonlySet<string>,
): Promise<void> {
  for (const { metadata = {} } of await cluster.listPods({ [labelNames.worker]: owner.worker }))
    if (metadata.name !== undefined && ids.has(parseMetadata(metadata).sandbox))
      await cluster.deletePod(metadata.name);
}
