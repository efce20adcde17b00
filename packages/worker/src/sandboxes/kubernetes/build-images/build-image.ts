/** Makes the image of a build, and pushes it. */
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { rm, stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { compress } from "../../../builds/compress.ts";
import { tooLarge } from "../../../images/image-error.ts";
import type { ImageLayers } from "../../../images/images.ts";
import { defaultImageLimits } from "../../../images/limits.ts";
import { architectureOf, type Descriptor, type LayerDescriptor, ociTypes } from "../../../images/manifest.ts";
import { pushBlob, pushBytes, pushManifest } from "../../../images/push-image.ts";
import { readChunks } from "../../../images/read-body.ts";
import type { Registry } from "../../../images/registry.ts";
import { writeBuildLayer } from "./build-layer.ts";

export interface BuildImageOptions {
  /** The archive of the base, without its description. */
  archive: AsyncIterable<Buffer>;
  /** The image of the environment, if it has one. The build's image has only files otherwise. */
  base: BaseLayers | undefined;
  tag: string;
  /** A file for the compressed layer. */
  path: string;
  /** With the scope `pull,push`. */
  registry: Registry;
  signal: AbortSignal;
  retryMs?: number;
}

/** The layers of the environment's image cannot be copied, for example because its registry no longer has them. */
export class BaseLayersError extends Error {
  override name = "BaseLayersError";
}

export interface BaseLayers extends ImageLayers {
  source: Registry;
  /** Its repository, if the same registry has it. */
  mountFrom: string | undefined;
}

/** Returns the digest of the image. */
export async function pushBuildImage(options: BuildImageOptions): Promise<string> {
  const { base, tag, path, registry, signal } = options;
  const layers = base?.layers ?? [];
  const { maxLayers } = defaultImageLimits;
  if (layers.length >= maxLayers)
    throw tooLarge(
      `The image has ${layers.length} layers, so another one would exceed the limit of ${maxLayers}.`,
    );
  try {
    const layer = await writeLayerFile(options);
    for (const each of layers) await copyLayer(each, options);
    await pushBlob({ ...options, blob: layer, open: () => createReadStream(path) });
    const config = await pushBytes(describeConfig(base, layer.diffId), options);
    const manifest = {
      ...{ schemaVersion: 2, mediaType: ociTypes.manifest },
      config: { mediaType: ociTypes.config, ...config },
      layers: [
        ...layers.map(({ mediaType, digest, size }) => ({ mediaType: ociTypeOf(mediaType), digest, size })),
        { mediaType: `${ociTypes.layer}+gzip`, digest: layer.digest, size: layer.size },
      ],
    };
    signal.throwIfAborted();
    return await pushManifest(registry, tag, ociTypes.manifest, Buffer.from(JSON.stringify(manifest)));
  } finally {
    await rm(path, { force: true });
  }
}

async function writeLayerFile({
  archive,
  path,
  signal,
}: BuildImageOptions): Promise<Descriptor & { diffId: string }> {
  const uncompressed = createHash("sha256");
  const compressed = createHash("sha256");
  const hashWith = (hash: typeof compressed) =>
    async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        hash.update(chunk);
        yield chunk;
      }
    };
  await pipeline(
    writeBuildLayer(archive),
    hashWith(uncompressed),
    compress,
    hashWith(compressed),
    createWriteStream(path, { mode: 0o600 }),
    { signal },
  );
  const { size } = await stat(path);
  const [diffId = "", digest = ""] = [uncompressed, compressed].map((hash) => `sha256:${hash.digest("hex")}`);
  return { digest, size, diffId };
}

/** Other registries send the layer through this worker, which does not store it. */
async function copyLayer(
  layer: LayerDescriptor,
  { base, ...options }: Pick<BuildImageOptions, "base" | "registry" | "signal" | "retryMs">,
): Promise<void> {
  let failure: Error | undefined;
  const open = async function* () {
    if (!base) return;
    try {
      yield* readChunks((await base.source.request(`blobs/${layer.digest}`)).body);
    } catch (error) {
      failure = error as Error;
      throw error;
    }
  };
  try {
    await pushBlob({ ...options, blob: layer, mountFrom: base?.mountFrom, open });
  } catch (error) {
    throw failure ? new BaseLayersError(failure.message, { cause: failure }) : error;
  }
}

/** The configuration of the environment's image with another layer. */
function describeConfig(base: BaseLayers | undefined, diffId: string): Buffer {
  const { history: _, ...fields } = base?.fields ?? {
    os: "linux",
    architecture: architectureOf(),
    config: {},
  };
  const rootfs = { type: "layers", diff_ids: [...(base?.diffIds ?? []), diffId] };
  return Buffer.from(JSON.stringify({ ...fields, rootfs }));
}

function ociTypeOf(mediaType: string): string {
  const compression = /[.+](gzip|zstd)$/.exec(mediaType)?.[1];
  return compression === undefined ? ociTypes.layer : `${ociTypes.layer}+${compression}`;
}
