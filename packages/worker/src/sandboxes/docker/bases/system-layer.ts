/**
 * The changes of a container to the system of its image, as one layer that other engines can put on the same image.
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
  throw new EngineError("failed", "The container engine did not export the changes to the system.");
}

/** Newer formats name layers after their content. */
function isTopLayer(name: string, diffId: string, tops: ReadonlySet<string>): boolean {
  const hash = diffId.replace("sha256:", "");
  return tops.has(name) || name === `blobs/sha256/${hash}` || name === `${hash}.tar`;
}

/** Puts a layer on an image and returns the id of the new image. */
export async function addLayer(
  docker: Docker,
  options: { image: string; layer: SystemLayer; labels: Record<string, string> },
): Promise<string> {
  const { image, layer, labels } = options;
  const { Architecture, Os, RootFS } = await docker.getImage(image).inspect();
  const layers = [...(RootFS.Layers ?? []), layer.diffId];
  const config = JSON.stringify({
    ...{ architecture: Architecture, os: Os, config: { Labels: labels } },
    rootfs: { type: "layers", diff_ids: layers },
  });
  const id = createHash("sha256").update(config).digest("hex");
  const paths = layers.map((_, index) => `${index}/layer.tar`);
  const manifest = JSON.stringify([{ Config: `${id}.json`, RepoTags: null, Layers: paths }]);
  async function* archive() {
    yield entry(`${id}.json`, config);
    yield entry("manifest.json", manifest);
    yield headerOf(paths.at(-1) as string, layer.size);
    yield* layer.content;
    yield Buffer.alloc(paddingOf(layer.size));
    yield end;
  }
  const upload = new PassThrough();
  const sent = pipeline(archive, upload);
  sent.catch(() => {}); // the engine's response says why
  await readProgress(await docker.loadImage(upload));
  await sent;
  return `sha256:${id}`;
}

export function entry(name: string, text: string): Buffer {
  const data = Buffer.from(text);
  return Buffer.concat([headerOf(name, data.length), data, Buffer.alloc(paddingOf(data.length))]);
}

export function headerOf(name: string, size: number): Buffer {
  return writeHeader({ type: "0", name, linkName: "", mode: 0o644, uid: 0, gid: 0, size, mtime: 0 });
}
