/**
 * Images that the engine pulls from registries and stores.
 *
 * The engine gives every image that it has to everyone, but private images must not be: an image is on this worker only for
 * those who use the same secret. So a pull without a record asks the registry with the caller's credentials, even if the
 * engine has the image already.
 */
import type Docker from "dockerode";
import type { Exceptions } from "../../../egress/exceptions.ts";
import { parseCredentials } from "../../../images/credentials.ts";
import { ImageError } from "../../../images/image-error.ts";
import { parseConfig } from "../../../images/manifest.ts";
import { isDigest, parseReference, type Reference } from "../../../images/reference.ts";
import type { Log } from "../../../log.ts";
import type { Capability } from "../../limits.ts";
import type { Owner } from "../../owner.ts";
import type { ImageSource, PullOptions, PullReports, SandboxImage } from "../../sandbox.ts";
import type { Engine } from "../engine/connect.ts";
import { isEngineError } from "../engine/errors.ts";
import { readProgress } from "../engine/progress.ts";
import { labelFilters, labelNames, sharedLabels } from "../labels.ts";
import { readContainerFile } from "../volumes/archive.ts";
import { assertReachable } from "./assert-reachable.ts";
import { evictImages } from "./evict-images.ts";
import { explainPullError } from "./pull-errors.ts";
import { PullProgress } from "./pull-progress.ts";
import { type PullKey, PullRecords } from "./pull-records.ts";

export interface DockerImagesOptions {
  engine: Engine;
  owner: Pick<Owner, "installation">;
  /** A folder of the worker for the records of what was pulled with which secret. */
  folder: string;
  ids: Capability;
  /** The private addresses from which images can be pulled. */
  exceptions: Exceptions;
  /** As in the names of images' platforms, such as `amd64`. */
  architecture: string;
  /** The size of all pulled images above which those that are not in use are removed, those used least recently first. */
  maxBytes: number;
  /** How long an image stays at least after it was used last. */
  minUnusedMs?: number;
  log: Log;
}

/** Longer than it takes to open a sandbox after its image was pulled. */
const defaultMinUnusedMs = 10 * 60_000;
const probeKind = "image-probe";
const maxOsReleaseBytes = 4096;

type Authorization = { username: string; password: string; serveraddress: string } | undefined;

export class DockerImages implements ImageSource {
  readonly problem = undefined;
  readonly #options: DockerImagesOptions;
  readonly #records: PullRecords;
  /** The ids of the images of open sandboxes, with the number of sandboxes. */
  readonly #held = new Map<string, number>();
  /** What was pulled to resolve a reference, by the image's name with its digest. */
  readonly #resolved = new Map<string, { tag: string; isOwn: boolean }>();

  constructor(options: DockerImagesOptions) {
    this.#options = options;
    this.#records = new PullRecords(options.folder);
  }

  get ids(): Capability {
    return this.#options.ids;
  }

  get #docker(): Docker {
    return this.#options.engine.docker;
  }

  async resolve(reference: string, { credentials, signal }: PullOptions): Promise<string> {
    const parsed = parseReference(reference);
    if (parsed.digest !== undefined) return parsed.digest;
    const authorization = authorize(parsed, credentials);
    await assertReachable(parsed, this.#options.exceptions);
    try {
      return await this.#askRegistry(parsed, authorization, signal);
    } catch (error) {
      throw explainPullError(error, parsed);
    }
  }

  async #askRegistry(
    reference: Reference,
    authorization: Authorization,
    signal: AbortSignal,
  ): Promise<string> {
    const found = await this.#findInRegistry(reference.text, authorization, signal);
    if (found !== undefined) return found;
    const hadTag = (await this.#inspect(reference.text)) !== undefined;
    const isOwn = await this.#pull(reference.text, authorization, { signal });
    const { RepoDigests: digests } = await this.#docker.getImage(reference.text).inspect();
    const digest = (digests ?? [])
      .filter((each) => isOf(each, reference))
      .map((each) => each.split("@")[1])
      .find(isDigest);
    if (digest !== undefined) {
      if (!hadTag) this.#resolved.set(nameOf(reference, digest), { tag: reference.text, isOwn });
      return digest;
    }
    throw new ImageError(
      "corrupt",
      `The engine pulled ${reference.text}, but has no digest of it.`,
      "Name the image with its digest (@sha256:…).",
    );
  }

  /** Returns undefined if the engine cannot ask registries without pulling, as Podman. */
  async #findInRegistry(
    name: string,
    authorization: Authorization,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    try {
      const image = this.#docker.getImage(name);
      const found = await image.distribution(authorization ? { authconfig: authorization } : {});
      signal.throwIfAborted();
      const { digest } = (found as { Descriptor: { digest: unknown } }).Descriptor;
      return isDigest(digest) ? digest : undefined;
    } catch (error) {
      if (isEngineError(error, "not_found")) return undefined;
      throw error;
    }
  }

  async pull(
    { reference, digest }: { reference: string; digest: string },
    options: PullOptions & PullReports,
  ): Promise<SandboxImage> {
    const { credentials, secretName, signal, onProgress = () => {}, onDownloaded = () => {} } = options;
    const parsed = parseReference(`${reference.replace(/@sha256:[0-9a-f]+$/, "")}@${digest}`);
    const name = nameOf(parsed, digest);
    const key = { name, secretName };
    const progress = new PullProgress(onProgress);
    try {
      const isPulled = this.#records.has(key) && (await this.#inspect(name)) !== undefined;
      if (isPulled) {
        this.#records.touch(key);
        onProgress("The image is already on this worker.");
      } else {
        const authorization = authorize(parsed, credentials);
        await assertReachable(parsed, this.#options.exceptions);
        // Docker does not ask the registry again for an image that it has.
        await this.#findInRegistry(name, authorization, signal);
        const isOwn = await this.#pull(name, authorization, { signal, progress });
        await this.#record(key, isOwn);
        progress.finish();
        await this.#evict();
      }
      onDownloaded(progress.downloadedBytes);
      return await this.#describe({ reference, digest, name });
    } catch (error) {
      throw explainPullError(error, parsed);
    }
  }

  /** Returns whether the engine did not have the image before. */
  async #pull(
    fromImage: string,
    authorization: Authorization,
    { signal, progress }: { signal: AbortSignal; progress?: PullProgress },
  ): Promise<boolean> {
    const before = new Set((await this.#docker.listImages({ all: true })).map(({ Id }) => Id));
    const stream = await this.#docker.createImage(authorization, { fromImage, abortSignal: signal });
    await readProgress(stream, (message) => progress?.add(message));
    return !before.has((await this.#docker.getImage(fromImage).inspect()).Id);
  }

  async #record(key: PullKey, isNew: boolean): Promise<void> {
    const { Size: bytes } = await this.#docker.getImage(key.name).inspect();
    const resolved = this.#resolved.get(key.name);
    this.#resolved.delete(key.name);
    this.#records.add(key, {
      ...{ name: key.name, bytes, isOwn: isNew || resolved?.isOwn === true },
      tags: resolved ? [resolved.tag] : [],
    });
  }

  /** Keeps an image until the returned function is called, because a sandbox with it is open. */
  hold(id: string): () => void {
    this.#held.set(id, (this.#held.get(id) ?? 0) + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const left = (this.#held.get(id) ?? 0) - 1;
      if (left > 0) this.#held.set(id, left);
      else this.#held.delete(id);
    };
  }

  /** A run must not fail because other images cannot be removed. */
  async #evict(): Promise<void> {
    const { maxBytes, minUnusedMs = defaultMinUnusedMs, log } = this.#options;
    try {
      const evicted = await evictImages(this.#docker, this.#records, {
        ...{ maxBytes, usedBefore: Date.now() - minUnusedMs, inUse: new Set(this.#held.keys()) },
      });
      if (evicted.length > 0) log.info({ images: evicted }, "removed pulled images to free space");
    } catch (error) {
      log.warn({ error }, "failed to remove pulled images");
    }
  }

  async #inspect(name: string): Promise<Docker.ImageInspectInfo | undefined> {
    try {
      return await this.#docker.getImage(name).inspect();
    } catch (error) {
      if (isEngineError(error, "image_not_found", "not_found")) return undefined;
      throw error;
    }
  }

  async #describe(image: { reference: string; digest: string; name: string }): Promise<SandboxImage> {
    const { reference, digest, name } = image;
    const { Id: id, Os: os, Architecture, Config, RootFS } = await this.#docker.getImage(name).inspect();
    const layers = RootFS?.Layers ?? [];
    // It has the same form as in the image.
    const json = { os, architecture: Architecture, config: Config, rootfs: { diff_ids: layers } };
    const { config } = parseConfig(Buffer.from(JSON.stringify(json)), {
      ...{ architecture: this.#options.architecture, layerCount: layers.length },
    });
    return {
      ...{ reference, digest, layers: [id], env: config.env, workingFolder: config.workingDir },
      ...{ user: config.user ?? "root", onBuild: config.onBuild, osRelease: await this.#readOsRelease(id) },
    };
  }

  /** The container is never started. */
  async #readOsRelease(id: string): Promise<string> {
    const labels = sharedLabels(this.#options.owner, { kind: probeKind, content: id });
    const container = await this.#docker.createContainer({
      ...{ Image: id, Cmd: ["true"], Labels: labels, HostConfig: { NetworkMode: "none" } },
    });
    try {
      for (const path of ["/etc/os-release", "/usr/lib/os-release"]) {
        const content = await readContainerFile(this.#docker, container.id, path, maxOsReleaseBytes);
        if (content) return content.toString();
      }
      return "";
    } finally {
      await container.remove({ force: true, v: true });
    }
  }

  /** Removes what a crash while an image was described has left behind, and the images that exceed the limit. */
  async reap(): Promise<void> {
    await this.#evict();
    const filters = labelFilters({
      [labelNames.installation]: this.#options.owner.installation,
      [labelNames.kind]: probeKind,
    });
    for (const { Id, Created } of await this.#docker.listContainers({
      all: true,
      filters: JSON.stringify(filters),
    }))
      if (Date.now() / 1_000 - Created > 600)
        await this.#docker.getContainer(Id).remove({ force: true, v: true });
  }
}

function nameOf(
  { registry, repository }: Pick<Reference, "registry" | "repository">,
  digest: string,
): string {
  return `${registry}/${repository}@${digest}`;
}

function isOf(repoDigest: string, { registry, repository }: Reference): boolean {
  try {
    const parsed = parseReference(repoDigest);
    return parsed.registry === registry && parsed.repository === repository;
  } catch {
    return false;
  }
}

function authorize({ registry }: Reference, credentials: string | undefined): Authorization {
  const parsed = credentials === undefined ? undefined : parseCredentials(credentials, registry);
  return parsed && { ...parsed, serveraddress: registry };
}
