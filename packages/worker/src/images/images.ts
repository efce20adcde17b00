/**
 * Pulls images from registries without a daemon. This file is the entry to the folder:
 *
 * - `describeImage` returns the configuration of an image without its layers.
 * - `resolveDigest` returns the digest that a tag has now. It reads no layer.
 * - `useImageLayers` gives access to the compressed layers of an image.
 * - `pullImage` returns an image whose layers are on this worker, ready to be the lower layers of an overlay. It needs no
 *   registry for a digest that was pulled before (image-records.ts).
 * - `LayerStore` (layer-store.ts) holds the unpacked layers. Its `acquire` needs no registry.
 * - `parseReference` (reference.ts) checks a reference, and every failure is an `ImageError` (image-error.ts) with a code.
 */
import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import type { Exceptions } from "../egress/exceptions.ts";
import type { UpstreamProxy } from "../egress/upstream-proxy.ts";
import { openRemote } from "../mcp/remote.ts";
import { parseCredentials } from "./credentials.ts";
import { fetchLayers, type PullProgress } from "./fetch-layers.ts";
import { corrupt } from "./image-error.ts";
import { ImageRecords } from "./image-records.ts";
import type { LayerRef, LayerStore } from "./layer-store.ts";
import { defaultImageLimits, type ImageLimits } from "./limits.ts";
import {
  acceptedManifests,
  architectureOf,
  type ImageConfig,
  type LayerDescriptor,
  parseConfig,
  parseManifest,
} from "./manifest.ts";
import { readBody } from "./read-body.ts";
import { isDigest, parseReference, type Reference } from "./reference.ts";
import { Registry } from "./registry.ts";

export interface ResolveOptions {
  /** `user:token`, or the content of Docker's `config.json`. */
  credentials?: string;
  /** The addresses that are reachable although they are private, also with plain HTTP. */
  exceptions: Exceptions;
  /** The company's proxy. */
  upstream?: UpstreamProxy | undefined;
  signal: AbortSignal;
  /** How long to wait before the first retry. */
  retryMs?: number;
}

export interface PullOptions extends ResolveOptions {
  store: LayerStore;
  /** The name of the secret with the credentials. */
  secretName?: string | undefined;
  limits?: Partial<ImageLimits>;
  onProgress?: (progress: PullProgress) => void;
}

export interface PulledImage {
  /** Complete, with the digest: `docker.io/library/debian:12@sha256:…`. */
  reference: string;
  /** Of the manifest, or of the index if the image exists for several architectures. */
  digest: string;
  /** The layers from bottom to top, each of them once. They stay on this worker until `release` is called. */
  layers: LayerRef[];
  config: ImageConfig;
  /** Sentences for the environment's owner about what a sandbox will not have. */
  notices: string[];
  release(): void;
}

/** Returns the digest of an image. Asks the registry only if the reference has none. */
export async function resolveDigest(reference: string, options: ResolveOptions): Promise<string> {
  const parsed = parseReference(reference);
  return await withRegistry(parsed, options, (registry) => digestOf(registry, parsed));
}

/** Returns the configuration of an image, which is verified by the digest in the reference. */
export async function describeImage(reference: string, options: ResolveOptions): Promise<ImageConfig> {
  const parsed = parseReference(reference);
  return await withRegistry(parsed, options, async (registry) => {
    const digest = await digestOf(registry, parsed);
    return (await readImage(registry, digest, defaultImageLimits)).config;
  });
}

/** Downloads, verifies and unpacks an image. Layers that are already on this worker are used again. */
export async function pullImage(reference: string, options: PullOptions): Promise<PulledImage> {
  const parsed = parseReference(reference);
  const limits = { ...defaultImageLimits, ...options.limits };
  const records = new ImageRecords(options.store);
  const { registry: host, repository } = parsed;
  const keyOf = (digest: string) => ({
    ...{ digest, registry: host, repository },
    secretName: options.secretName,
  });
  const recorded = parsed.digest === undefined ? undefined : records.acquire(keyOf(parsed.digest));
  if (recorded) return pulledImage(parsed, { ...recorded, digest: parsed.digest as string });
  return await withRegistry(parsed, options, async (registry) => {
    const digest = await digestOf(registry, parsed);
    const { manifest, config, diffIds } = await readImage(registry, digest, limits);
    const layers = await fetchLayers({ ...options, registry, blobs: manifest.layers, diffIds, limits });
    records.write(keyOf(digest), { diffIds: layers.map(({ diffId }) => diffId), config });
    records.prune();
    return pulledImage(parsed, { digest, config, layers });
  });
}

function pulledImage(
  { text, digest: ownDigest }: Reference,
  { digest, config, layers }: { digest: string; config: ImageConfig; layers: LayerRef[] },
): PulledImage {
  return {
    reference: ownDigest === undefined ? `${text}@${digest}` : text,
    digest,
    layers: visibleLayers(layers),
    config,
    notices: noticesOf(layers),
    release: () => {
      for (const layer of layers) layer.release();
    },
  };
}

/** A layer that hides everything below makes the layers below useless, and overlayfs does not know such roots. */
function visibleLayers(layers: LayerRef[]): LayerRef[] {
  return layers.slice(
    Math.max(
      layers.findLastIndex(({ isRootOpaque }) => isRootOpaque),
      0,
    ),
  );
}

function noticesOf(layers: LayerRef[]): string[] {
  const sum = (key: "skippedDevices" | "droppedAttributes" | "droppedOwners") =>
    layers.reduce((total, layer) => total + layer[key], 0);
  const [devices, attributes, owners] = [
    sum("skippedDevices"),
    sum("droppedAttributes"),
    sum("droppedOwners"),
  ];
  return [
    ...(devices > 0 ? [`The image contains ${devices} device files or pipes, which were left out.`] : []),
    ...(attributes > 0 ? [`The image contains ${attributes} extended attributes, which were left out.`] : []),
    ...(owners > 0
      ? [
          `This worker has only one user id for images, so ${owners} files of the image lost their owner or their setuid bit. All files belong to root.`,
        ]
      : []),
  ];
}

/** The parts of an image that an image built on it repeats. */
export interface ImageLayers {
  layers: LayerDescriptor[];
  diffIds: string[];
  /** All fields of the configuration. */
  fields: Record<string, unknown>;
}

/** Calls back with the layers of an image, and with the registry that has them. */
export async function useImageLayers<T>(
  reference: string,
  options: ResolveOptions,
  use: (image: ImageLayers, registry: Registry) => Promise<T>,
): Promise<T> {
  const parsed = parseReference(reference);
  return await withRegistry(parsed, options, async (registry) => {
    const digest = await digestOf(registry, parsed);
    const { manifest, diffIds, fields } = await readImage(registry, digest, defaultImageLimits);
    return await use({ layers: manifest.layers, diffIds, fields }, registry);
  });
}

async function withRegistry<T>(
  reference: Reference,
  { credentials, exceptions, upstream, signal, retryMs }: ResolveOptions,
  use: (registry: Registry) => Promise<T>,
): Promise<T> {
  const parsed = credentials === undefined ? undefined : parseCredentials(credentials, reference.registry);
  const remote = openRemote({ exceptions, upstream });
  try {
    return await use(
      new Registry({
        reference,
        credentials: parsed,
        remote,
        signal,
        ...(retryMs === undefined ? {} : { retryMs }),
      }),
    );
  } finally {
    remote.close();
  }
}

/** Returns the digest of an image, which the registry knows if the reference has none. */
export async function digestOf(registry: Registry, { digest, tag }: Reference): Promise<string> {
  if (digest !== undefined) return digest;
  // Docker Hub's rate limit does not count HEAD requests.
  const path = `manifests/${tag}`;
  const head = await registry.request(path, { method: "HEAD", accept: acceptedManifests });
  head.body.destroy();
  const found = head.header("docker-content-digest");
  if (isDigest(found)) return found;
  const { body } = await registry.request(path, { accept: acceptedManifests });
  return sha256(await readBody(body, defaultImageLimits.maxManifestBytes));
}

async function readImage(registry: Registry, digest: string, limits: ImageLimits) {
  const architecture = architectureOf();
  const read = async (expected: string) => {
    const response = await registry.request(`manifests/${expected}`, { accept: acceptedManifests });
    const bytes = await readVerified(response.body, expected, limits.maxManifestBytes);
    const contentType = (response.header("content-type") ?? "").split(";")[0]?.trim() ?? "";
    return parseManifest(bytes, { contentType, architecture, limits });
  };
  let manifest = await read(digest);
  if ("select" in manifest) manifest = await read(manifest.select.digest);
  if ("select" in manifest) throw corrupt("The image's index refers to another index.");
  const response = await registry.request(`blobs/${manifest.config.digest}`);
  const bytes = await readVerified(response.body, manifest.config.digest, limits.maxManifestBytes);
  if (bytes.length !== manifest.config.size)
    throw corrupt("The image's configuration has another size than declared.");
  return { manifest, ...parseConfig(bytes, { architecture, layerCount: manifest.layers.length }) };
}

async function readVerified(body: Readable, digest: string, maxBytes: number): Promise<Buffer> {
  const bytes = await readBody(body, maxBytes);
  if (sha256(bytes) !== digest)
    throw corrupt(`The registry sent content that does not match the digest ${digest}.`);
  return bytes;
}

function sha256(bytes: Buffer): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}
