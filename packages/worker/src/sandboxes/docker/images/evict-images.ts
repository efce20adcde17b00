/**
 * Removes pulled images to free space. Only images that this worker has added to the engine are removed, and only as
 * long as nobody else has given them a name. The engine itself keeps those that a container uses or that a build is based
 * on.
 */
import type Docker from "dockerode";
import { parseReference } from "../../../images/reference.ts";
import { isEngineError } from "../engine/errors.ts";
import type { PullRecords } from "./pull-records.ts";

export interface EvictOptions {
  maxBytes: number;
  /** Images that were used later than this time stay, because a sandbox with them may be about to open. */
  usedBefore: number;
  /** The ids of the images of open sandboxes. */
  inUse: ReadonlySet<string>;
}

/** Removes the images that were not used for the longest time, until the others are small enough. Returns their names. */
export async function evictImages(
  docker: Docker,
  records: PullRecords,
  { maxBytes, usedBefore, inUse }: EvictOptions,
): Promise<string[]> {
  const own = records.list().filter(({ isOwn }) => isOwn);
  let bytes = own.reduce((sum, image) => sum + image.bytes, 0);
  const names = new Set(own.flatMap(({ name, tags }) => [name, ...tags]));
  const evicted: string[] = [];
  for (const image of own) {
    if (bytes <= maxBytes || image.usedAt > usedBefore) break;
    const found = await inspect(docker, image.name);
    if (found) {
      const { Id: id, RepoTags: tags, RepoDigests: digests } = found;
      const isShared = [...(tags ?? []), ...(digests ?? [])].some((name) => !names.has(completeName(name)));
      if (isShared || inUse.has(id) || !(await removeAll(docker, [...image.tags, image.name]))) continue;
      evicted.push(image.name);
    }
    records.remove(image.name);
    bytes -= image.bytes;
  }
  return evicted;
}

async function inspect(docker: Docker, name: string): Promise<Docker.ImageInspectInfo | undefined> {
  try {
    return await docker.getImage(name).inspect();
  } catch (error) {
    if (isEngineError(error, "image_not_found", "not_found")) return undefined;
    throw error;
  }
}

/** Removes the names of an image, and with the last one the image. Returns whether the engine allowed it. */
async function removeAll(docker: Docker, names: string[]): Promise<boolean> {
  try {
    for (const name of names) await removeName(docker, name);
    return true;
  } catch (error) {
    if (isEngineError(error, "conflict", "container_stopped")) return false;
    throw error;
  }
}

async function removeName(docker: Docker, name: string): Promise<void> {
  try {
    await docker.getImage(name).remove();
  } catch (error) {
    if (!isEngineError(error, "image_not_found", "not_found")) throw error; // somebody has removed it
  }
}

/** Returns the complete form of a name, as records have it. Docker omits the registry of its own images. */
function completeName(name: string): string {
  try {
    return parseReference(name).text;
  } catch {
    return name;
  }
}
