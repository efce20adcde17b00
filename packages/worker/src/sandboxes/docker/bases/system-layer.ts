/**
 * The changes to the system of an image, as layers that other engines can put on the same image. There is one for a
 * container, and more if the engine has executed a Dockerfile.
 *
 * Engines export and import only whole images. An exported image has the layers below too, which are skipped here; an
 * import may omit layers that the engine has.
 */
import { createHash } from "node:crypto";
import { PassThrough, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type Docker from "dockerode";
import { ByteReader } from "../../../images/byte-reader.ts";
import { readEntries } from "../../../images/tar-entries.ts";
import { paddingOf, writeHeader } from "../../../images/tar-header.ts";
import { EngineError } from "../engine/errors.ts";
import { readProgress } from "../engine/progress.ts";

export interface SystemLayer {
  /** The hash of the layer's archive. */
  diffId: string;
  size: number;
  content: AsyncIterable<Buffer>;
}

const maxJsonBytes = 2 ** 20;
const end = Buffer.alloc(1024);
const notExported = () =>
  new EngineError("failed", "The container engine did not export the changes to the system.");

/** Calls back with the topmost layer of an image. Its content must be read before the callback returns. */
export async function readTopLayer(
  docker: Docker,
  image: string,
  use: (layer: SystemLayer) => Promise<void>,
): Promise<void> {
  const { RootFS } = await docker.getImage(image).inspect();
  const diffId = RootFS.Layers?.at(-1) ?? "";
  const exported = (await docker.getImage(image).get()) as Readable;
  try {
    const reader = new ByteReader(exported);
    const tops = new Set<string>();
    for await (const { name, type, size, bodyBytes } of readEntries(reader)) {
      const isFile = type === "0" || type === "";
      if (isFile && isTopLayer(name, diffId, tops))
        return await use({ diffId, size, content: reader.take(size) });
      const folder = /^([0-9a-f]{64})\/json$/.exec(name)?.[1];
      if (!folder || size > maxJsonBytes) {
        await reader.skip(bodyBytes);
        continue;
      }
      const { created = "" } = JSON.parse((await reader.readExactly(bodyBytes)).toString());
      // In the format of Docker before 25, only the topmost layer has a date.
      if (!created.startsWith("1970-01-01T")) tops.add(`${folder}/layer.tar`);
    }
  } finally {
    exported.destroy();
  }
  throw notExported();
}

/**
 * Calls back with each layer of an image that another one, on which it is based, does not have. Equal layers count as one.
 * The content must be read before the callback returns.
 */
export async function readLayersAbove(
  docker: Docker,
  { image, below }: { image: string; below: string },
  use: (layer: SystemLayer) => Promise<void>,
): Promise<void> {
  const diffIds = await listLayersAbove(docker, { image, below });
  if (diffIds.length === 0) return;
  if (diffIds.length === 1) return await readTopLayer(docker, image, use);
  const { RootFS } = await docker.getImage(image).inspect();
  const files = await readLayerFiles(docker, image);
  const wanted = new Set(diffIds);
  const exported = (await docker.getImage(image).get()) as Readable;
  try {
    const reader = new ByteReader(exported);
    for await (const { name, type, size, bodyBytes } of readEntries(reader)) {
      const diffId = RootFS.Layers?.[files.indexOf(name)] ?? "";
      // A layer that the image has several times is a link in all places but one.
      const isFile = type === "0" || type === "";
      if (isFile && wanted.delete(diffId)) await use({ diffId, size, content: reader.take(size) });
      else await reader.skip(bodyBytes);
      if (wanted.size === 0) return;
    }
  } finally {
    exported.destroy();
  }
  throw notExported();
}

/** Returns the hashes of the layers that an image has above another one, from bottom to top. */
export async function listLayersAbove(
  docker: Docker,
  { image, below }: { image: string; below: string },
): Promise<string[]> {
  const [layers, lower] = await Promise.all(
    [image, below].map(async (id) => (await docker.getImage(id).inspect()).RootFS.Layers ?? []),
  );
  return (layers ?? []).slice(lower?.length);
}

/** Returns the names of the layers' archives in an exported image, from bottom to top. */
async function readLayerFiles(docker: Docker, image: string): Promise<string[]> {
  const exported = (await docker.getImage(image).get()) as Readable;
  try {
    const reader = new ByteReader(exported);
    for await (const { name, size, bodyBytes } of readEntries(reader)) {
      if (name !== "manifest.json" || size > maxJsonBytes) {
        await reader.skip(bodyBytes);
        continue;
      }
      const [manifest] = JSON.parse((await reader.readExactly(bodyBytes)).toString());
      return manifest.Layers;
    }
  } finally {
    exported.destroy();
  }
  throw notExported();
}

/** Newer formats name layers after their content. */
function isTopLayer(name: string, diffId: string, tops: ReadonlySet<string>): boolean {
  const hash = diffId.replace("sha256:", "");
  return tops.has(name) || name === `blobs/sha256/${hash}` || name === `${hash}.tar`;
}

/**
 * Puts layers on an image and returns the id of the new image. `diffIds`: their hashes from bottom to top. `layers` has each
 * once, in any order.
 */
export async function addLayers(
  docker: Docker,
  options: {
    image: string;
    diffIds: string[];
    layers: AsyncIterable<SystemLayer>;
    labels: Record<string, string>;
  },
): Promise<string> {
  const { image, layers, labels } = options;
  const { Architecture, Os, RootFS } = await docker.getImage(image).inspect();
  const diffIds = [...(RootFS.Layers ?? []), ...options.diffIds];
  const config = JSON.stringify({
    ...{ architecture: Architecture, os: Os, config: { Labels: labels } },
    rootfs: { type: "layers", diff_ids: diffIds },
  });
  const id = createHash("sha256").update(config).digest("hex");
  const manifest = JSON.stringify([{ Config: `${id}.json`, RepoTags: null, Layers: diffIds.map(layerFile) }]);
  async function* archive() {
    yield entry(`${id}.json`, config);
    yield entry("manifest.json", manifest);
    for await (const { diffId, size, content } of layers) {
      yield headerOf(layerFile(diffId), size);
      yield* content;
      yield Buffer.alloc(paddingOf(size));
    }
    yield end;
  }
  const upload = new PassThrough();
  const sent = pipeline(archive, upload);
  sent.catch(() => {}); // the engine's response says why
  await readProgress(await docker.loadImage(upload));
  await sent;
  return `sha256:${id}`;
}

const layerFile = (diffId: string) => `${diffId.replace("sha256:", "")}/layer.tar`;

export function entry(name: string, text: string): Buffer {
  const data = Buffer.from(text);
  return Buffer.concat([headerOf(name, data.length), data, Buffer.alloc(paddingOf(data.length))]);
}

export function headerOf(name: string, size: number): Buffer {
  return writeHeader({ type: "0", name, linkName: "", mode: 0o644, uid: 0, gid: 0, size, mtime: 0 });
}
