import type { Label } from "../sandbox.ts";
import { removeImage } from "./images/remove-image.ts";
import { listSandboxObjects, removeSandboxObjects } from "./leftovers.ts";
import type { SharedResources } from "./shared-resources.ts";

interface ReapOptions {
  keep(label: Label): boolean;
  /** The ids of open sandboxes. */
  open: ReadonlySet<string>;
  /** Whether to remove those of the worker's isolated runs too. */
  withIsolated: boolean;
}

/** Removes the objects of this worker's sandboxes, except open ones and those to keep. Returns the ids of the sandboxes. */
export async function reap(
  { docker, owner, bases, log }: SharedResources,
  { keep, open, withIsolated }: ReapOptions,
): Promise<string[]> {
  const removed: string[] = [];
  // What a base has taken over keeps the labels of its sandbox.
  const ofBases = bases.objectNames();
  const isLeft = (id: string) => !ofBases.has(id);
  for (const objects of await listSandboxObjects(docker, owner, { withIsolated })) {
    const { sandbox, label, containers } = objects;
    const volumes = objects.volumes.filter(isLeft);
    if (open.has(sandbox) || keep(label)) continue;
    try {
      await removeSandboxObjects(docker, { ...objects, volumes, images: [] });
      const images = await Promise.all(objects.images.filter(isLeft).map((id) => removeImage(docker, id)));
      if (containers.length + volumes.length > 0 || images.includes(true)) removed.push(sandbox);
    } catch (error) {
      log.warn({ id: sandbox, error }, "failed to remove leftover sandbox");
    }
  }
  return removed;
}
