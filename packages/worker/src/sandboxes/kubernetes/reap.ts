import { isOwnWorker } from "../owner.ts";
import type { Label } from "../sandbox.ts";
import {
  installationLabels,
  labelNames,
  networkProbeComponent,
  ownerLabels,
  parseMetadata,
} from "./labels.ts";
import type { SharedResources } from "./shared-resources.ts";

interface ReapOptions {
  keep(label: Label): boolean;
  /** The ids of open sandboxes. */
  open: ReadonlySet<string>;
  /** Whether to remove those of the worker's isolated runs too. */
  withIsolated: boolean;
}

/** Removes the pods of this worker's sandboxes, except open ones and those to keep. Returns the ids of the sandboxes. */
export async function reap(
  { cluster, owner, log }: SharedResources,
  { keep, open, withIsolated }: ReapOptions,
): Promise<string[]> {
  const removed: string[] = [];
  for (const { metadata = {} } of await cluster.listPods(installationLabels(owner))) {
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
  { cluster, owner }: Pick<SharedResources, "cluster" | "owner">,
  ids: ReadonlySet<string>,
): Promise<void> {
  for (const { metadata = {} } of await cluster.listPods(ownerLabels(owner)))
    if (metadata.name !== undefined && ids.has(parseMetadata(metadata).sandbox))
      await cluster.deletePod(metadata.name);
}
