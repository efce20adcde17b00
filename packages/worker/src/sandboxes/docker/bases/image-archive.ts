/**
 * The archive of a base with an image. It is a tar archive:
 *
 *     outrider-system.json   the hashes of the layers from bottom to top, and the home
 *     outrider-layer.tar     each layer with changes to the system of the image, in any order
 *     workspace, home/sandbox
 *
 * If there are several layers, the name of each contains its hash.
 */
import { PassThrough, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type Docker from "dockerode";
import { ByteReader } from "../../../images/byte-reader.ts";
import { isDigest } from "../../../images/reference.ts";
import { BLOCK, paddingOf, parseHeader } from "../../../images/tar-header.ts";
import type { SpawnScript } from "../../process-sandbox.ts";
import type { Spawned } from "../../sandbox.ts";
import { removeImage } from "../images/remove-image.ts";
import {
  addLayers,
  entry,
  headerOf,
  listLayersAbove,
  readLayersAbove,
  type SystemLayer,
} from "./system-layer.ts";

const descriptionName = "outrider-system.json";
const maxDescriptionBytes = 64 * 1024;
/** As in Docker. */
const maxLayers = 127;

const tar = "tar --format=pax --pax-option=delete=atime,delete=ctime --sparse --sort=name --numeric-owner";
const packScript = `${tar} -C / --ignore-failed-read -cf - workspace home/sandbox 2> /dev/null; code=$?; ((code < 2))`;
/** The engine may have filled the home with files that the archive lacks because they were deleted. */
const unpackScript =
  "find /workspace /home/sandbox -mindepth 1 -delete; exec tar -C / --same-owner --same-permissions --numeric-owner -xf -";

/** The only form that workers of the previous version can read. */
interface DescriptionOfOne {
  diffId: string;
  home: string | undefined;
}

interface Description {
  diffIds: string[];
  home: string | undefined;
}

const layerNameOf = (diffId: string, all: string[]) =>
  all.length === 1 ? "outrider-layer.tar" : `outrider-layer-${diffId.replace("sha256:", "")}.tar`;

export interface ImageArchiveOptions {
  docker: Docker;
  labels: Record<string, string>;
  run: SpawnScript;
  signal: AbortSignal;
}

/** Packs the changes of a container to an image on which its own is based, and the volumes that scripts see. */
export async function packImageBase(
  { docker, labels, run, signal }: ImageArchiveOptions,
  { container, below, home }: { container: Docker.Container; below: string; home: string | undefined },
): Promise<Spawned> {
  const image = await commitContainer(container, labels);
  const removeCommitted = () => removeImage(docker, image);
  const script = await run(packScript, { stdin: false, signal }).catch(async (error) => {
    await removeCommitted();
    throw error;
  });
  const stdout = new PassThrough();
  const pack = async () => {
    try {
      const diffIds = await listLayersAbove(docker, { image, below });
      const [diffId = ""] = diffIds;
      const description: Description | DescriptionOfOne =
        diffIds.length === 1 ? { diffId, home } : { diffIds, home };
      await write(stdout, [entry(descriptionName, JSON.stringify(description))]);
      await readLayersAbove(docker, { image, below }, async ({ diffId, size, content }) => {
        await write(stdout, [headerOf(layerNameOf(diffId, diffIds), size)]);
        await write(stdout, content);
        await write(stdout, [Buffer.alloc(paddingOf(size))]);
      });
      await pipeline(script.stdout, stdout);
    } finally {
      await removeCommitted();
    }
  };
  const packed = pack().catch((error: Error) => {
    stdout.destroy(error);
    void script.kill();
  });
  stdout.on("close", () => {
    if (!stdout.writableFinished) void script.kill();
  });
  return { ...script, stdout, ended: packed.then(() => script.ended) };
}

/**
 * Unpacks into a sandbox that has run no command. `setSystem` replaces its image and the path of its home before its
 * containers are created.
 */
export async function unpackImageBase(
  { docker, labels, run, signal }: ImageArchiveOptions,
  { image, setSystem }: { image: string; setSystem(image: string, home: string | undefined): void },
): Promise<Spawned> {
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const unpack = async () => {
    const reader = new ByteReader(stdin);
    const { size: length } = await readHeader(reader, descriptionName);
    if (length > maxDescriptionBytes) throw invalid();
    const { home, ...description } = JSON.parse((await reader.readExactly(length)).toString()) as
      | Description
      | DescriptionOfOne;
    await reader.skip(paddingOf(length));
    const diffIds = "diffIds" in description ? description.diffIds : [description.diffId];
    if (diffIds.length > maxLayers || !diffIds.every(isDigest)) throw invalid();
    setSystem(await addLayers(docker, { image, diffIds, layers: readLayers(reader, diffIds), labels }), home);
    signal.throwIfAborted();
    const script = await run(unpackScript, { stdin: true, signal });
    const [ending] = await Promise.all([
      script.ended,
      pipeline(reader.rest(), script.stdin).catch(() => {}), // the exit code says whether it worked
      pipeline(script.stdout, stdout),
      pipeline(script.stderr, stderr),
    ]);
    return ending;
  };
  const ended = unpack().catch((error: Error) => {
    stderr.end(error.message);
    stdout.end();
    stdin.destroy(error);
    return { exitCode: 1 };
  });
  const kill = async () => {
    stdin.destroy();
    await ended;
  };
  return { stdin, stdout, stderr, ended, kill, resize: () => {} };
}

async function* readLayers(reader: ByteReader, diffIds: string[]): AsyncGenerator<SystemLayer> {
  const missing = new Map(diffIds.map((diffId) => [layerNameOf(diffId, diffIds), diffId]));
  while (missing.size > 0) {
    const header = parseHeader(await reader.readExactly(BLOCK));
    const diffId = header && missing.get(header.name);
    if (!header || diffId === undefined) throw invalid();
    missing.delete(header.name);
    yield { diffId, size: header.size, content: reader.take(header.size) };
    await reader.skip(paddingOf(header.size));
  }
}

async function readHeader(reader: ByteReader, name: string): Promise<{ size: number }> {
  const header = parseHeader(await reader.readExactly(BLOCK));
  if (header?.name !== name) throw invalid();
  return header;
}

const invalid = () => new Error("The build was made by another kind of worker. Build the environment again.");

async function write(stream: PassThrough, chunks: Iterable<Buffer> | AsyncIterable<Buffer>): Promise<void> {
  for await (const chunk of chunks) {
    if (stream.destroyed) throw new Error("The reader of the archive has closed it.");
    if (!stream.write(chunk)) await waitForDrain(stream);
  }
}

async function waitForDrain(stream: Readable & { once(event: string, listener: () => void): unknown }) {
  await new Promise<void>((resolve) => {
    stream.once("drain", resolve);
    stream.once("close", resolve);
  });
}

/** Commits the changes of a container, whose processes have ended, as an image. Returns its id. */
export async function commitContainer(
  container: Docker.Container,
  labels: Record<string, string>,
): Promise<string> {
  const changes = Object.entries(labels).map(([key, value]) => `LABEL ${key}=${JSON.stringify(value)}`);
  const { Id } = (await container.commit({ pause: false, changes })) as { Id: string };
  return Id;
}
