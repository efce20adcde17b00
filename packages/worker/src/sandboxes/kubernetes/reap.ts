import type { Label } from "../sandbox.ts";
import { ownerLabels, parseMetadata } from "./labels.ts";
import type { SharedResources } from "./shared-resources.ts";

/** Removes the pods of this worker's sandboxes, except open ones and those to keep. Returns the ids of the sandboxes. */
export async function reap(
  { cluster, owner, log }: SharedResources,
  { keep, open }: { keep(label: Label): boolean; open: ReadonlySet<string> },
): Promise<string[]> {
  const removed: string[] = [];
  for (const { metadata = {} } of await cluster.listPods(ownerLabels(owner))) {
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
