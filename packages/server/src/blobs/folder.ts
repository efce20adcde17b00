import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type BlobStorage, isHash, type PutOptions, relativePath, type StoredBlob } from "./blob-storage.ts";
import { verifiedContent } from "./verified-content.ts";

const TEMPORARY = ".part";

export const blobPath = (folder: string, sha256: string) => join(folder, relativePath(sha256));

/** Stores blobs as files in a folder. Several servers can share it. */
export function openFolder(folder: string): BlobStorage {
  async function statBlob(sha256: string): Promise<StoredBlob | undefined> {
    const found = await stat(blobPath(folder, sha256)).catch(() => undefined);
    return found && { sha256, size: found.size, storedAt: found.mtime };
  }

  return {
    location: folder,
    folder,
    bufferBytes: 0,
    put: (sha256, content, options) => writeBlob(folder, sha256, content, options),
    async open(sha256, select) {
      const path = blobPath(folder, sha256);
      const found = await stat(path).catch(() => undefined);
      if (!found) return undefined;
      const { size } = found;
      const range = select?.(size);
      return { content: createReadStream(path, range), size, ...(range ? { range } : {}) };
    },
    stat: statBlob,
    async delete(hashes, { storedBefore } = {}) {
      for (const sha256 of hashes) {
        const path = blobPath(folder, sha256);
        const found = await stat(path).catch(() => undefined);
        if (found && !(storedBefore && found.mtime >= storedBefore)) await rm(path, { force: true });
      }
    },
    async *list(startOfHash = "") {
      for (const part of await listParts(folder, startOfHash)) {
        const names = await readdir(join(folder, part)).catch(() => []);
        const hashes = names.filter((name) => isHash(name) && name.startsWith(startOfHash));
        const found = await Promise.all(hashes.map((sha256) => statBlob(sha256)));
        yield found.filter((blob): blob is StoredBlob => blob !== undefined);
      }
    },
    async deleteAbandonedUploads(before) {
      let deleted = 0;
      for (const part of await listParts(folder)) {
        const names = await readdir(join(folder, part)).catch(() => []);
        for (const name of names.filter((one) => one.endsWith(TEMPORARY))) {
          const path = join(folder, part, name);
          const found = await stat(path).catch(() => undefined);
          if (!found || found.mtime >= before) continue;
          await rm(path, { force: true });
          deleted += 1;
        }
      }
      return deleted;
    },
  };
}

async function listParts(folder: string, startOfHash = ""): Promise<string[]> {
  const parts = await readdir(folder).catch(() => []);
  const start = startOfHash.slice(0, 2);
  return parts.filter((part) => part.startsWith(start)).sort();
}

/**
 * Writes a temporary file and renames it. `beforeVisible` runs while the file is written to the disk, and the file is
 * renamed after both.
 */
async function writeBlob(
  folder: string,
  sha256: string,
  content: Readable,
  { beforeVisible = async () => {} }: PutOptions = {},
): Promise<void> {
  const target = blobPath(folder, sha256);
  const draft = `${target}.${randomUUID()}${TEMPORARY}`;
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  let prepared: Promise<void> | undefined;
  const verified = verifiedContent(sha256, (size) => {
    prepared = beforeVisible(size);
    prepared.catch(() => {}); // reported below, unless the file cannot be written
    return undefined;
  });
  const file = createWriteStream(draft, { mode: 0o600, flush: true });
  try {
    await pipeline(content, verified, file);
    await prepared;
    await rename(draft, target);
  } catch (error) {
    // Otherwise the file could be created after its removal.
    if (!file.closed) await once(file, "close");
    await rm(draft, { force: true });
    throw error;
  }
}
