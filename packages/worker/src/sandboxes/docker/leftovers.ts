/**
 * Finds and removes objects of an installation in an engine by their labels. It needs no memory of what was created, so it
 * works after a crash of the worker and after a restart of the engine.
 */
import type Docker from "dockerode";
import { isOwnWorker, type Owner } from "../owner.ts";
import type { Label } from "../sandbox.ts";
import { isEngineError } from "./engine/errors.ts";
import { removeImage } from "./images/remove-image.ts";
import { labelFilters, labelNames, parseLabel } from "./labels.ts";
import { parseUses } from "./presence.ts";
import { bundleKind, bundleRecordKind } from "./volumes/bundle-volume.ts";
import { removeVolume } from "./volumes/remove-volume.ts";
import { systemImageKind } from "./volumes/system-image.ts";

export interface SandboxObjects {
  /** The sandbox's id. */
  sandbox: string;
  label: Label;
  containers: string[];
  volumes: string[];
  images: string[];
}

/** Lists the objects of all sandboxes of a worker and, if asked to, of its isolated runs. */
export async function listSandboxObjects(
  docker: Docker,
  owner: Owner,
  { withIsolated = false } = {},
): Promise<SandboxObjects[]> {
  // The worker's name is unique. Its objects may be of a time when it did not know its installation yet.
  const objects = (await listObjects(docker, { [labelNames.worker]: undefined })).filter(({ labels }) =>
    isOwnWorker(owner, labels[labelNames.worker], { withIsolated }),
  );
  const found = new Map<string, SandboxObjects>();
  for (const { type, id, labels } of objects) {
    const sandbox = labels[labelNames.sandbox];
    if (sandbox === undefined) continue;
    const each = found.get(sandbox) ?? { sandbox, label: {}, containers: [], volumes: [], images: [] };
    found.set(sandbox, {
      ...each,
      label: { ...each.label, ...parseLabel(labels) },
      [type]: [...each[type], id],
    });
  }
  return [...found.values()];
}

export interface EngineObject {
  type: "containers" | "volumes" | "images";
  id: string;
  labels: Record<string, string>;
  /** Milliseconds since the Unix epoch. */
  createdAt: number;
  /** Whether it is a container that has not ended. */
  isRunning: boolean;
}

export async function listObjects(
  docker: Docker,
  labels: Record<string, string | undefined>,
): Promise<EngineObject[]> {
  const filters = JSON.stringify(labelFilters(labels));
  const [containers, { Volumes: volumes }, images] = await Promise.all([
    docker.listContainers({ all: true, filters }),
    docker.listVolumes({ filters }),
    docker.listImages({ filters }),
  ]);
  return [
    ...containers.map(({ Id: id, Labels, Created, State }) => ({
      ...{ type: "containers" as const, id, labels: Labels, createdAt: Created * 1_000 },
      isRunning: !endedStates.includes(State),
    })),
    ...(volumes ?? []).map((volume) => ({
      ...{ type: "volumes" as const, id: volume.Name, labels: volume.Labels },
      createdAt: Date.parse((volume as { CreatedAt?: string }).CreatedAt ?? ""),
      isRunning: false,
    })),
    ...images.map(({ Id: id, Labels, Created }) => ({
      ...{ type: "images" as const, id, labels: Labels ?? {}, createdAt: Created * 1_000 },
      isRunning: false,
    })),
  ];
}

/** Docker and Podman have different names for what has not started. */
const endedStates = ["created", "configured", "initialized", "exited", "stopped", "dead"];

export async function removeSandboxObjects(
  docker: Docker,
  { containers, volumes, images }: SandboxObjects,
): Promise<void> {
  // A volume can be removed only after its containers.
  await Promise.all(containers.map((id) => removeContainer(docker, id)));
  await Promise.all(volumes.map((name) => removeVolume(docker, name)));
  await Promise.all(images.map((id) => removeImage(docker, id)));
}

/** Removes the objects of a worker's sandboxes with these ids. */
export async function removeSandboxes(docker: Docker, owner: Owner, ids: ReadonlySet<string>): Promise<void> {
  for (const objects of await listSandboxObjects(docker, owner))
    if (ids.has(objects.sandbox)) await removeSandboxObjects(docker, objects);
}

const REMOVAL_POLLS = 600;
const POLL_MS = 100;

/** Kills and removes a container with its anonymous volumes, and waits for a removal that is already under way. */
export async function removeContainer(docker: Docker, id: string): Promise<void> {
  for (let poll = 1; ; poll++) {
    try {
      await docker.getContainer(id).remove({ force: true, v: true });
      return;
    } catch (error) {
      if (isEngineError(error, "not_found")) return;
      const isUnderWay = isEngineError(error, "conflict") && /already in progress/.test(error.message);
      if (!isUnderWay || poll === REMOVAL_POLLS) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Helper containers exist for less than this, even on a slow engine. */
const HELPER_MS = 30 * 60_000;

/**
 * Removes old objects that the installation's workers share: helper containers of crashed workers, bundles that were
 * not filled completely, and bundles and system images that are older than `unusedMs`, are not used by a container, are
 * not among `inUse`, and that no worker of the installation has announced to use. Workers make them again when they need
 * them.
 */
export async function removeUnusedShared(
  docker: Docker,
  { installation }: Pick<Owner, "installation">,
  { inUse, unusedMs, now = Date.now() }: { inUse: ReadonlySet<string>; unusedMs: number; now?: number },
): Promise<string[]> {
  const all = await listObjects(docker, { [labelNames.installation]: installation });
  const objects = all.filter(
    ({ labels }) => labels[labelNames.sandbox] === undefined && labels[labelNames.content] !== undefined,
  );
  const used = new Set([...inUse, ...all.flatMap(({ labels }) => parseUses(labels))]);
  const kindOf = ({ labels }: EngineObject) => labels[labelNames.kind];
  const isOld = ({ createdAt }: EngineObject, ageMs: number) => now - createdAt > ageMs;
  const recorded = new Set(objects.flatMap(({ labels }) => labels[labelNames.volume] ?? []));
  const removed: string[] = [];
  const remove = async ({ id }: EngineObject, run: () => Promise<void>) => {
    try {
      await run();
      removed.push(id);
    } catch (error) {
      if (!isEngineError(error, "conflict")) throw error; // a container uses it
    }
  };
  for (const object of objects.filter(({ type }) => type === "containers"))
    if (isOld(object, HELPER_MS)) await remove(object, () => removeContainer(docker, object.id));
  for (const object of objects.filter((each) => kindOf(each) === bundleKind && each.type === "volumes")) {
    const isComplete = recorded.has(object.id);
    if (used.has(object.id) || !isOld(object, isComplete ? unusedMs : HELPER_MS)) continue;
    await remove(object, () => docker.getVolume(object.id).remove());
  }
  const volumes = new Set(objects.map(({ id }) => id));
  for (const object of objects.filter((each) => kindOf(each) === bundleRecordKind)) {
    const volume = object.labels[labelNames.volume] ?? "";
    if (removed.includes(volume) || !volumes.has(volume))
      await remove(object, () => removeVolume(docker, object.id));
  }
  for (const object of objects.filter((each) => kindOf(each) === systemImageKind && each.type === "images"))
    if (!used.has(object.id) && isOld(object, unusedMs))
      await remove(object, async () => void (await docker.getImage(object.id).remove()));
  return removed;
}
