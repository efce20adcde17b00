import type { Label } from "../sandbox.ts";
import { isEngineError } from "./engine/errors.ts";
import { removeImage } from "./images/remove-image.ts";
import { labelFilters, labelNames, parseLabel } from "./labels.ts";
import type { SharedResources } from "./shared-resources.ts";
import { removeVolume } from "./volumes/sandbox-volumes.ts";

interface Found {
  label: Label;
  containers: string[];
  volumes: string[];
}

/** Removes the objects of this worker's sandboxes, except open ones and those to keep. Returns the ids of the sandboxes. */
export async function reap(
  shared: SharedResources,
  { keep, open }: { keep(label: Label): boolean; open: ReadonlySet<string> },
): Promise<string[]> {
  const { log } = shared;
  const removed: string[] = [];
  // Objects that a base has taken over keep the labels of their sandbox.
  const ofBases = shared.bases.objectNames();
  for (const [id, { label, containers, volumes }] of await findSandboxes(shared, ofBases)) {
    if (open.has(id) || keep(label)) continue;
    try {
      await Promise.all(containers.map((container) => removeContainer(shared, container)));
      await Promise.all(volumes.map((name) => removeVolume(shared.docker, name)));
      removed.push(id);
    } catch (error) {
      log.warn({ id, error }, "failed to remove leftover sandbox");
    }
  }
  await removeImages(shared, ofBases).catch((error) =>
    log.warn({ error }, "failed to remove leftover images of bases"),
  );
  return removed;
}

async function findSandboxes(
  { docker, owner }: SharedResources,
  ofBases: ReadonlySet<string>,
): Promise<Map<string, Found>> {
  const filters = JSON.stringify(
    labelFilters({ [labelNames.installation]: owner.installation, [labelNames.worker]: owner.worker }),
  );
  const [containers, { Volumes: volumes }] = await Promise.all([
    docker.listContainers({ all: true, filters }),
    docker.listVolumes({ filters }),
  ]);
  const found = new Map<string, Found>();
  const get = (labels: Record<string, string>) => {
    const id = labels[labelNames.sandbox] ?? "";
    const each = found.get(id) ?? { label: parseLabel(labels), containers: [], volumes: [] };
    found.set(id, each);
    return each;
  };
  for (const { Id, Labels } of containers) get(Labels).containers.push(Id);
  for (const { Name, Labels } of volumes ?? []) if (!ofBases.has(Name)) get(Labels).volumes.push(Name);
  return found;
}

async function removeContainer({ docker }: SharedResources, id: string): Promise<void> {
  try {
    await docker.getContainer(id).remove({ force: true, v: true });
  } catch (error) {
    if (!isEngineError(error, "not_found")) throw error;
  }
}

/** Removes the committed images that no base uses. */
async function removeImages({ docker, owner }: SharedResources, ofBases: ReadonlySet<string>): Promise<void> {
  const filters = JSON.stringify(
    labelFilters({ [labelNames.installation]: owner.installation, [labelNames.worker]: owner.worker }),
  );
  for (const { Id } of await docker.listImages({ all: true, filters })) {
    if (!ofBases.has(Id)) await removeImage(docker, Id);
  }
}
