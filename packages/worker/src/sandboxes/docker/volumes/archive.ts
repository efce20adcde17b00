/** Tar archives to and from containers, through the engine's archive API. They also work while a container is stopped. */
import { Readable } from "node:stream";
import type Docker from "dockerode";
import { ByteReader } from "../../../images/byte-reader.ts";
import { readEntries } from "../../../images/tar-entries.ts";
import { type ArchiveEntry, packEntries } from "../../files/pack-files.ts";
import { isEngineError } from "../engine/errors.ts";

/** Unpacks the entries in a folder of a container that exists. */
export async function uploadEntries(
  docker: Docker,
  container: string,
  folder: string,
  entries: Iterable<ArchiveEntry>,
  { signal }: { signal?: AbortSignal | undefined } = {},
): Promise<void> {
  const archive = Readable.from(packEntries(entries), { objectMode: false });
  try {
    await docker
      .getContainer(container)
      .putArchive(archive, { path: folder, ...(signal ? { abortSignal: signal } : {}) });
  } finally {
    archive.destroy();
  }
}

/**
 * Reads a regular file of a container. Returns undefined if it is missing, is not a regular file, or has more bytes. The
 * engine follows no symbolic link at the end of the path.
 */
export async function readContainerFile(
  docker: Docker,
  container: string,
  path: string,
  maxBytes: number,
): Promise<Buffer | undefined> {
  let archive: NodeJS.ReadableStream;
  try {
    archive = await docker.getContainer(container).getArchive({ path });
  } catch (error) {
    if (isEngineError(error, "not_found")) return undefined;
    throw error;
  }
  try {
    const reader = new ByteReader(archive as Readable);
    for await (const entry of readEntries(reader))
      return entry.type === "0" && entry.bodyBytes <= maxBytes
        ? await reader.readExactly(entry.bodyBytes)
        : undefined;
    return undefined;
  } finally {
    (archive as Readable).destroy();
  }
}
