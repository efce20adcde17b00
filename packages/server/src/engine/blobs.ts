import { createHash, randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { upsertBlob } from "../store/blobs.ts";
import type { Db } from "../store/connection/db.ts";
import { ApiError } from "./api-error.ts";

/**
 * A store of files named by the SHA-256 of their content: workspace snapshots, artifacts, builds and their chunks, and
 * output too large for an event.
 */
export interface Blobs {
  put(sha256: string, content: Readable): Promise<void>;
  /** Opens a blob, or the part of it that `select` returns for its size. Both ends of the part are inclusive. */
  open(
    sha256: string,
    select?: (size: number) => BlobRange | undefined,
  ): Promise<{ content: Readable; size: number; range?: BlobRange } | undefined>;
  has(sha256: string): Promise<boolean>;
  /** The folder that contains all blobs. */
  folder: string;
}

interface BlobRange {
  start: number;
  end: number;
}

export function blobPath(folder: string, sha256: string): string {
  return join(folder, sha256.slice(0, 2), sha256);
}

/**
 * Writes a blob atomically, by writing a temporary file and then renaming it. `beforeRename` is called once the content is
 * complete and matches its hash. It runs while the file is written to the disk, and the file is renamed after both.
 */
export async function writeBlob({
  folder,
  sha256,
  content,
  beforeRename = async () => {},
}: {
  folder: string;
  sha256: string;
  content: Readable;
  beforeRename?: (size: number) => Promise<void>;
}): Promise<void> {
  const target = blobPath(folder, sha256);
  const draft = `${target}.${randomUUID()}.part`;
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  const hash = createHash("sha256");
  let size = 0;
  let prepared: Promise<void> | undefined;
  const tee = new Transform({
    transform(chunk, _encoding, done) {
      hash.update(chunk);
      size += chunk.length;
      done(null, chunk);
    },
    flush(done) {
      if (hash.digest("hex") === sha256) prepared = beforeRename(size);
      prepared?.catch(() => {}); // reported below, unless the file cannot be written
      done();
    },
  });
  try {
    await pipeline(content, tee, createWriteStream(draft, { mode: 0o600, flush: true }));
    if (!prepared)
      throw new ApiError("invalid_request", "The content does not match the SHA-256 in the URL.");
    await prepared;
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

export function openBlobs(folder: string, db: Db): Blobs {
  return {
    folder,
    put: (sha256, content) =>
      // The row is written before the rename. If garbage collection is removing the same blob, the insert waits for it
      // to finish; once the row exists, garbage collection leaves the file alone. The row and the file are written to the
      // disk at the same time, which is safe because only the renamed file shows that a blob is stored: if the server
      // crashes or the disk is full, a row can remain without its file, and garbage collection deletes it later.
      writeBlob({
        folder,
        sha256,
        content,
        beforeRename: (size_bytes) => upsertBlob(db, { sha256, size_bytes }),
      }),
    has: async (sha256) => (await stat(blobPath(folder, sha256)).catch(() => undefined)) !== undefined,
    async open(sha256, select) {
      const path = blobPath(folder, sha256);
      const found = await stat(path).catch(() => undefined);
      if (!found) return undefined;
      const { size } = found;
      const range = select?.(size);
      return { content: createReadStream(path, range), size, ...(range ? { range } : {}) };
    },
  };
}
