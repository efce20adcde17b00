/**
 * A provider that only finds out whether containers work here, as for `outrider doctor`. Nothing of it is used again, so it
 * removes everything that it has created when it is stopped, and when it cannot be opened.
 *
 * Its installation has a name of its own, by which the next one finds what a killed process has left.
 */
import { randomUUID } from "node:crypto";
import type Docker from "dockerode";
import type { SandboxProvider } from "../sandbox.ts";
import { type DockerProviderOptions, openDockerProvider } from "./docker-provider.ts";
import { openEngine } from "./engine/connect.ts";
import { removeImage } from "./images/remove-image.ts";
import { labelNames } from "./labels.ts";
import { type EngineObject, listObjects, removeContainer } from "./leftovers.ts";
import { removeVolume } from "./volumes/remove-volume.ts";

const prefix = "temporary-";
/** No check takes longer. */
const maxAgeMs = 3_600_000;

export async function openTemporaryProvider(options: DockerProviderOptions): Promise<SandboxProvider> {
  const { docker } = await openEngine(options.docker?.engine);
  const id = randomUUID();
  const installation = `${prefix}${id}`;
  const onStopped = async () => {
    try {
      await removeObjects(docker, await listObjects(docker, { [labelNames.installation]: installation }));
    } catch (error) {
      options.log.warn({ error }, "failed to remove the objects of a check");
    }
  };
  try {
    await removeOldTemporary(docker);
    return await openDockerProvider({
      ...{ ...options, onStopped },
      docker: { ...options.docker, owner: { installation, worker: id } },
    });
  } catch (error) {
    await onStopped();
    throw error;
  }
}

/** Removes what processes left that were killed. */
export async function removeOldTemporary(docker: Docker, now = Date.now()): Promise<void> {
  const objects = await listObjects(docker, { [labelNames.installation]: undefined });
  const isOld = ({ labels, createdAt }: EngineObject) =>
    labels[labelNames.installation]?.startsWith(prefix) && now - createdAt > maxAgeMs;
  await removeObjects(docker, objects.filter(isOld));
}

async function removeObjects(docker: Docker, objects: EngineObject[]): Promise<void> {
  const idsOf = (type: EngineObject["type"]) =>
    objects.filter((each) => each.type === type).map(({ id }) => id);
  for (const id of idsOf("containers")) await removeContainer(docker, id);
  for (const name of idsOf("volumes")) await removeVolume(docker, name);
  for (const id of idsOf("images")) await removeImage(docker, id);
}
