import { lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Exceptions } from "../../../egress/exceptions.ts";
import type { UpstreamProxy } from "../../../egress/upstream-proxy.ts";
import { ImageError } from "../../../images/image-error.ts";
import { pullImage, resolveDigest } from "../../../images/images.ts";
import type { LayerStore } from "../../../images/layer-store.ts";
import type { Capability } from "../../limits.ts";
import type { ImageSource, PullOptions, PullReports, SandboxImage } from "../../sandbox.ts";

interface LocalImagesOptions {
  store: LayerStore;
  exceptions: Exceptions;
  upstream: UpstreamProxy | undefined;
  ids: Capability;
  /** Why this worker cannot use images. */
  problem: string | undefined;
  /** Sentences for the build log about what sandboxes with an image cannot do on this worker. */
  notices: string[];
}

/** Pulls images from registries into this worker's layer store. */
export class LocalImages implements ImageSource {
  readonly #options: LocalImagesOptions;

  constructor(options: LocalImagesOptions) {
    this.#options = options;
  }

  get ids(): Capability {
    return this.#options.ids;
  }

  get problem(): string | undefined {
    return this.#options.problem;
  }

  #assertAvailable(): void {
    if (this.problem === undefined) return;
    throw new ImageError(
      "unsupported",
      `This worker cannot use images: ${this.problem}.`,
      "Start the worker as root, or on Linux 5.11 or later with user namespaces.",
    );
  }

  async resolve(reference: string, { credentials, signal }: PullOptions): Promise<string> {
    this.#assertAvailable();
    const { exceptions, upstream } = this.#options;
    return await resolveDigest(reference, {
      ...{ ...(credentials ? { credentials } : {}), exceptions, upstream, signal },
    });
  }

  async pull(
    { reference, digest }: { reference: string; digest: string },
    {
      credentials,
      secretName,
      signal,
      onProgress = () => {},
      onDownloaded = () => {},
    }: PullOptions & PullReports,
  ): Promise<SandboxImage> {
    this.#assertAvailable();
    const report = new ProgressReport(onProgress);
    const name = reference.replace(/@sha256:[0-9a-f]+$/, "");
    const pulled = await pullImage(`${name}@${digest}`, {
      ...(credentials ? { credentials } : {}),
      ...{ ...this.#options, secretName, signal },
      onProgress: (progress) => report.add(progress),
    });
    report.finish(pulled.layers.length);
    onDownloaded(report.downloadedBytes);
    const osRelease = readOsRelease(pulled.layers.map(({ path }) => path));
    // A sandbox that opens acquires the layers again. Until then they are the most recently used ones.
    pulled.release();
    for (const notice of [...pulled.notices, ...this.#options.notices]) onProgress(notice);
    return {
      ...{ reference, digest },
      layers: pulled.layers.map(({ diffId }) => diffId),
      env: pulled.config.env,
      workingFolder: pulled.config.workingDir,
      user: pulled.config.user ?? "root",
      onBuild: pulled.config.onBuild,
      osRelease,
    };
  }
}

const maxOsReleaseBytes = 4096;

/** Returns the first of the topmost files. The layers are hostile, so no symbolic link is followed. */
function readOsRelease(layers: string[]): string {
  for (const layer of layers.toReversed()) {
    for (const path of [
      ["etc", "os-release"],
      ["usr", "lib", "os-release"],
    ]) {
      const text = readRegularFile(layer, path);
      if (text !== undefined) return text;
    }
  }
  return "";
}

function readRegularFile(layer: string, path: string[]): string | undefined {
  let current = layer;
  try {
    for (const [index, name] of path.entries()) {
      current = join(current, name);
      const stat = lstatSync(current, { throwIfNoEntry: false });
      const isExpected = index < path.length - 1 ? stat?.isDirectory() : stat?.isFile();
      if (!isExpected || !stat || (stat.isFile() && stat.size > maxOsReleaseBytes)) return undefined;
    }
    return readFileSync(current, "utf8");
  } catch {
    return undefined; // without root, the worker cannot read all files of an image
  }
}

/** Writes one line per layer when it is on this worker. */
class ProgressReport {
  readonly #write: (message: string) => void;
  readonly #finished = new Set<number>();
  readonly #startedAt = performance.now();
  #cached = 0;
  downloadedBytes = 0;

  constructor(write: (message: string) => void) {
    this.#write = write;
  }

  add({
    layer,
    layers,
    phase,
    totalBytes,
  }: Parameters<NonNullable<Parameters<typeof pullImage>[1]["onProgress"]>>[0]) {
    if ((phase !== "done" && phase !== "cached") || this.#finished.has(layer)) return;
    this.#finished.add(layer);
    if (phase === "cached") this.#cached += 1;
    else this.downloadedBytes += totalBytes;
    const size = phase === "cached" ? "already on this worker" : formatSize(totalBytes);
    this.#write(`Layer ${this.#finished.size} of ${layers}: ${size}.`);
  }

  /** An image that was pulled before has no progress. */
  finish(layers: number) {
    if (this.#finished.size === this.#cached) {
      this.#write(`All ${layers} layers of the image are already on this worker.`);
      return;
    }
    const seconds = ((performance.now() - this.#startedAt) / 1_000).toFixed(1);
    const cached = this.#cached > 0 ? `; already on this worker: ${this.#cached} of ${layers} layers` : "";
    this.#write(`Total: ${formatSize(this.downloadedBytes)} in ${seconds} s${cached}.`);
  }
}

const formatSize = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
