/**
 * The builds of this installation as images in the operator's registry. Nodes pull such an image once, so that a sandbox does not
 * receive its build through the API server.
 *
 * - The tag is a hash of the content, so all workers find the image that the first one has pushed.
 * - The registry is a cache. The archive of the build stays where it was, and an image that is missing is pushed again.
 * - `find` never fails and never waits long. If there is no image, the sandbox is restored from the archive.
 */
import { createHash, randomUUID } from "node:crypto";
import { createReadStream, mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import { ImageError } from "../../../images/image-error.ts";
import { useImageLayers } from "../../../images/images.ts";
import { architectureOf } from "../../../images/manifest.ts";
import { parseReference } from "../../../images/reference.ts";
import type { Log } from "../../../log.ts";
import type { SandboxImage } from "../../sandbox.ts";
import { readImageBase } from "../bases/image-base.ts";
import type { KubernetesBases } from "../bases/kubernetes-bases.ts";
import type { KubernetesImages } from "../images/kubernetes-images.ts";
import { BaseLayersError, pushBuildImage } from "./build-image.ts";
import type { BuildRegistry, BuildRegistryNetwork } from "./build-registry.ts";

/** A part of the tags. Changes with the content that the same archive becomes. */
const format = 1;
const responseMs = 10_000;
const pushMs = 60 * 60_000;
/** How long sandboxes wait for an image after the push has started, instead of being restored from the archive. */
const defaultWaitMs = 60_000;
const registryPauseMs = 60_000;
const pullPauseMs = 5 * 60_000;
const buildPauseMs = 30 * 60_000;

export interface BuildImagesOptions extends BuildRegistryNetwork {
  registry: BuildRegistry;
  bases: Pick<KubernetesBases, "acquire">;
  images: Pick<KubernetesImages, "find">;
  /** A folder of the worker for layers that are being pushed. */
  folder: string;
  waitMs?: number;
  log: Log;
}

export interface FoundBuildImage {
  /** With its digest. */
  name?: string;
  /** Why there is none. */
  problem?: string;
  /** Called if the node cannot pull it. Returns what to tell the users. */
  reportPullFailure(error: Error): string;
}

export class BuildImages {
  readonly #options: BuildImagesOptions;
  readonly #stopping = new AbortController();
  readonly #hashes = new Map<string, Promise<string>>();
  readonly #pushing = new Map<string, { startedAt: number; digest: Promise<string> }>();
  /** The tags of images that nodes could not pull. Their blobs may be missing. */
  readonly #broken = new Set<string>();
  /** By tag, and for all tags. */
  readonly #problems = new Map<string, { text: string; until: number }>();

  constructor(options: BuildImagesOptions) {
    this.#options = options;
    // What an earlier worker did not complete.
    rmSync(options.folder, { recursive: true, force: true });
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  }

  /** Logs a warning if the registry cannot be used. */
  async check(): Promise<void> {
    const { registry } = this.#options;
    const problem = await registry.findProblem(this.#signal(responseMs));
    if (problem !== undefined) this.#report("", problem, registryPauseMs);
  }

  /** Returns the image of a base. Pushes it if the registry does not have it. */
  async find(base: string, image: SandboxImage | undefined): Promise<FoundBuildImage> {
    const found = { reportPullFailure: () => "" };
    const known = this.#problemOf("");
    if (known !== undefined) return { ...found, problem: known };
    let tag = base;
    try {
      tag = await this.#tagOf(base, image);
      const problem = this.#problemOf(tag);
      if (problem !== undefined) return { ...found, problem };
      const digest = (await this.#findDigest(tag)) ?? (await this.#pushSoon(tag, base, image));
      if (digest === undefined) return found;
      const name = `${this.#options.registry.name}@${digest}`;
      return { name, reportPullFailure: (error) => this.#reportPullFailure(tag, error) };
    } catch (error) {
      return { ...found, problem: this.#reportFailure(tag, error) };
    }
  }

  /** Aborts what is being pushed. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("The worker stops."));
    await Promise.allSettled([...this.#pushing.values()].map(({ digest }) => digest));
    this.#options.registry.close();
  }

  async #findDigest(tag: string): Promise<string | undefined> {
    if (this.#pushing.has(tag) || this.#broken.has(tag)) return undefined;
    return await this.#options.registry.findDigest(tag, this.#signal(responseMs));
  }

  /** Returns undefined if the push takes longer than a sandbox should wait. */
  async #pushSoon(tag: string, base: string, image: SandboxImage | undefined): Promise<string | undefined> {
    let pushing = this.#pushing.get(tag);
    if (!pushing) {
      const digest = this.#push(tag, base, image).finally(() => this.#pushing.delete(tag));
      pushing = { startedAt: performance.now(), digest };
      this.#pushing.set(tag, pushing);
      // Also reported if no sandbox waits any longer.
      digest.catch((error) => this.#reportFailure(tag, error));
    }
    const { waitMs = defaultWaitMs } = this.#options;
    const remainingMs = Math.max(pushing.startedAt + waitMs - performance.now(), 0);
    const waited = new AbortController();
    try {
      return await Promise.race([pushing.digest, pause(remainingMs, undefined, { signal: waited.signal })]);
    } finally {
      waited.abort();
    }
  }

  async #push(tag: string, base: string, image: SandboxImage | undefined): Promise<string> {
    const { registry, bases, folder, log } = this.#options;
    const signal = this.#signal(pushMs);
    const { path: archivePath, release } = bases.acquire(base);
    const path = join(folder, randomUUID());
    const startedAt = performance.now();
    try {
      const digest = image
        ? await this.#pushOver(image, { tag, path, archivePath, signal })
        : await pushBuildImage({
            ...{ tag, path, signal, archive: createReadStream(archivePath), base: undefined },
            registry: registry.open({ tag, signal }),
          });
      this.#broken.delete(tag);
      const seconds = Math.round((performance.now() - startedAt) / 1000);
      log.info({ build_id: base, image: `${registry.name}@${digest}`, seconds }, "pushed build as an image");
      return digest;
    } finally {
      release();
    }
  }

  async #pushOver(
    image: SandboxImage,
    options: { tag: string; path: string; archivePath: string; signal: AbortSignal },
  ): Promise<string> {
    const { registry, images, exceptions, upstream } = this.#options;
    const { archivePath, signal, tag } = options;
    const { name, registryCredentials: credentials } = images.find(image);
    const { registry: host, repository } = parseReference(name);
    const mountFrom = host === registry.host ? repository : undefined;
    const { changes } = await readImageBase(archivePath);
    const access = { ...(credentials === undefined ? {} : { credentials }), exceptions, upstream, signal };
    let isReading = true;
    try {
      return await useImageLayers(name, access, async (layers, source) => {
        isReading = false;
        return await pushBuildImage({
          ...{ ...options, archive: changes(), base: { ...layers, source, mountFrom } },
          registry: registry.open({ tag, signal, mountFrom }),
        });
      });
    } catch (error) {
      throw isReading ? new BaseLayersError((error as Error).message, { cause: error }) : error;
    }
  }

  /** All workers find the same tag for the same content. */
  async #tagOf(base: string, image: SandboxImage | undefined): Promise<string> {
    const { path, release } = this.#options.bases.acquire(base);
    try {
      const { ino, size } = statSync(path);
      const key = `${base}/${ino}/${size}`;
      const hash = this.#hashes.get(key) ?? hashFile(path);
      this.#hashes.set(key, hash);
      hash.catch(() => this.#hashes.delete(key));
      const content = [format, await hash, image?.digest ?? null, architectureOf()];
      return `build-${createHash("sha256").update(JSON.stringify(content)).digest("hex")}`;
    } finally {
      release();
    }
  }

  #signal(timeoutMs: number): AbortSignal {
    return AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(timeoutMs)]);
  }

  /** What only concerns a build has no effect on others. */
  #reportFailure(tag: string, error: unknown): string {
    if (this.#stopping.signal.aborted) return "The worker stops.";
    if (error instanceof BaseLayersError)
      return this.#report(
        tag,
        `The layers of the environment's image cannot be copied. ${error.message}`,
        buildPauseMs,
      );
    const isOfRegistry =
      (error instanceof ImageError && ["unauthorized", "unreachable", "not_found"].includes(error.code)) ||
      (error as Error).name === "TimeoutError";
    const text = this.#options.registry.explain(error);
    return isOfRegistry ? this.#report("", text, registryPauseMs) : this.#report(tag, text, buildPauseMs);
  }

  /** Its blobs may be missing, so it is pushed again. */
  #reportPullFailure(tag: string, error: Error): string {
    this.#broken.add(tag);
    return this.#report("", error.message, pullPauseMs);
  }

  #report(key: string, text: string, forMs: number): string {
    if (this.#problemOf(key) === text) return text;
    this.#problems.set(key, { text, until: performance.now() + forMs });
    const { registry, log } = this.#options;
    log.warn({ registry: registry.name, reason: text }, "restoring builds from blobs instead of images");
    return text;
  }

  #problemOf(key: string): string | undefined {
    const problem = this.#problems.get(key);
    if (problem && problem.until > performance.now()) return problem.text;
    this.#problems.delete(key);
    return undefined;
  }
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path, { highWaterMark: 2 ** 20 }), hash);
  return hash.digest("hex");
}
