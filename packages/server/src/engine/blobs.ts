import type { Readable } from "node:stream";
import { type BlobStorage, HashMismatchError } from "../blobs/blob-storage.ts";
import { upsertBlob } from "../store/blobs.ts";
import type { Db } from "../store/connection/db.ts";
import { ApiError } from "./api-error.ts";

/**
 * The files of runs, named by the SHA-256 of their content: workspace snapshots, artifacts, builds and their chunks, and
 * output too large for an event. Each blob has a row in the database, which garbage collection reads.
 */
export interface Blobs extends Pick<BlobStorage, "open"> {
  readonly storage: BlobStorage;
  put(sha256: string, content: Readable, options?: { size?: number }): Promise<void>;
  has(sha256: string): Promise<boolean>;
}

export function openBlobs(storage: BlobStorage, db: Db): Blobs {
  return {
    storage,
    async put(sha256, content, options) {
      // The row is written before the blob becomes visible. If garbage collection is removing the same blob, the insert
      // waits for it to finish; once the row exists, garbage collection leaves the blob alone. If the server crashes or
      // the disk is full, a row can remain without its blob, and garbage collection deletes it later.
      const beforeVisible = (size_bytes: number) => upsertBlob(db, { sha256, size_bytes });
      try {
        await storage.put(sha256, content, { ...options, beforeVisible });
      } catch (error) {
        if (!(error instanceof HashMismatchError)) throw error;
        throw new ApiError("invalid_request", "The content does not match the SHA-256 in the URL.");
      }
    },
    has: async (sha256) => (await storage.stat(sha256)) !== undefined,
    open: (sha256, select) => storage.open(sha256, select),
  };
}
