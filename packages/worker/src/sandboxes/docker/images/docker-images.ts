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
import type { Capability } from "../../limits.ts";
import type { ImageSource, PullOptions, PullReports, SandboxImage } from "../../sandbox.ts";
import type { Engine } from "../engine/connect.ts";
import { isEngineError } from "../engine/errors.ts";
import { readProgress } from "../engine/progress.ts";
import { labelFilters, labelNames, type Owner, sharedLabels } from "../labels.ts";
import { readContainerFile } from "../volumes/archive.ts";
import { assertReachable } from "./assert-reachable.ts";
import { explainPullError } from "./pull-errors.ts";
import { PullProgress } from "./pull-progress.ts";
import { PullRecords } from "./pull-records.ts";

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
}

const probeKind = "image-probe";
const maxOsReleaseBytes = 4096;

type Authorization = { username: string; password: string; serveraddress: string } | undefined;

export class DockerImages implements ImageSource {
  readonly problem = undefined;
  readonly #options: DockerImagesOptions;
  readonly #records: PullRecords;

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
    await this.#pull(reference.text, authorization, { signal });
    const { RepoDigests: digests } = await this.#docker.getImage(reference.text).inspect();
    const digest = (digests ?? [])
      .filter((each) => isOf(each, reference))
      .map((each) => each.split("@")[1])
      .find(isDigest);
    if (digest !== undefined) return digest;
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
    const name = `${parsed.registry}/${parsed.repository}@${digest}`;
    const key = { name, secretName };
    const progress = new PullProgress(onProgress);
    try {
      const isPulled = this.#records.has(key) && (await this.#inspect(name)) !== undefined;
      if (isPulled) {
        onProgress("The image is already on this worker.");
      } else {
        const authorization = authorize(parsed, credentials);
        await assertReachable(parsed, this.#options.exceptions);
        // Docker does not ask the registry again for an image that it has.
        await this.#findInRegistry(name, authorization, signal);
        await this.#pull(name, authorization, { signal, progress });
        this.#records.add(key);
        progress.finish();
      }
      onDownloaded(progress.downloadedBytes);
      return await this.#describe({ reference, digest, name });
    } catch (error) {
      throw explainPullError(error, parsed);
    }
  }

  async #pull(
    fromImage: string,
    authorization: Authorization,
    { signal, progress }: { signal: AbortSignal; progress?: PullProgress },
  ): Promise<void> {
    const stream = await this.#docker.createImage(authorization, { fromImage, abortSignal: signal });
    await readProgress(stream, (message) => progress?.add(message));
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

  /** Removes what a crash while an image was described has left behind. */
  async reap(): Promise<void> {
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
