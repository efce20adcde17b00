import type { Readable } from "node:stream";
import type { UploadTarget } from "@outrider/contract/worker/blob";
import { type BlobStorage, type DownloadedFile, HashMismatchError } from "../blobs/blob-storage.ts";
import { upsertBlob } from "../store/blobs.ts";
import type { Db } from "../store/connection/db.ts";
import { ApiError, unavailable } from "./api-error.ts";
import { ConcurrencyLimiter } from "./limits/concurrency-limiter.ts";
import { observeStorage, StorageStats } from "./operations/storage-stats.ts";

/** The memory that all uploads of a server may use together. Further uploads wait. */
const MAX_UPLOAD_BYTES = 192 * 2 ** 20;
/** Smaller blobs are sent faster by the server than with a second connection. */
const MIN_REDIRECT_BYTES = 2 ** 20;
const WAIT_MS = 60_000;
const RETRY_SECONDS = 5;

/**
 * The files of runs, named by the SHA-256 of their content: workspace snapshots, artifacts, builds and their chunks, and
 * output too large for an event. Each blob has a row in the database, which garbage collection reads.
 */
export interface Blobs extends Pick<BlobStorage, "open"> {
  readonly storage: BlobStorage;
  readonly stats: StorageStats;
  readonly uploads: Pick<ConcurrencyLimiter, "stats">;
  put(sha256: string, content: Readable, options?: { size?: number }): Promise<void>;
  has(sha256: string): Promise<boolean>;
  /** Returns where a worker uploads a blob. */
  uploadTarget(sha256: string, size: number): Promise<UploadTarget>;
  /** Returns a URL to redirect a worker to, or undefined if the server must send the blob itself. */
  downloadUrl(sha256: string): Promise<string | undefined>;
  /**
   * Returns the size of a large blob and a URL to redirect a user to, or undefined if the server must send the blob itself.
   */
  userDownload(sha256: string, file: DownloadedFile): Promise<{ url: string; size: number } | undefined>;
}

export function openBlobs(opened: BlobStorage, db: Db): Blobs {
  const stats = new StorageStats();
  const storage = observeStorage(opened, stats);
  const busy = () =>
    unavailable("The service is busy with other uploads. Try again in a moment.", RETRY_SECONDS);
  const uploads = new ConcurrencyLimiter(
    { max: MAX_UPLOAD_BYTES, maxPerCaller: MAX_UPLOAD_BYTES, waitMs: WAIT_MS },
    { perCaller: busy, total: busy },
  );
  return {
    storage,
    stats,
    uploads,
    async put(sha256, content, { size } = {}) {
      // The row is written before the blob becomes visible. If garbage collection is removing the same blob, the insert
      // waits for it to finish; once the row exists, garbage collection leaves the blob alone. If the server crashes or
      // the disk is full, a row can remain without its blob, and garbage collection deletes it later.
      const beforeVisible = (size_bytes: number) => upsertBlob(db, { sha256, size_bytes });
      const release = await uploads.acquire("uploads", Math.min(size ?? Infinity, storage.bufferBytes));
      try {
        await storage.put(sha256, content, { ...(size === undefined ? {} : { size }), beforeVisible });
      } catch (error) {
        if (!(error instanceof HashMismatchError)) throw error;
        throw new ApiError("invalid_request", "The content does not match the SHA-256 in the URL.");
      } finally {
        release();
      }
    },
    has: async (sha256) => (await storage.stat(sha256)) !== undefined,
    open: (sha256, select) => storage.open(sha256, select),
    async uploadTarget(sha256, size) {
      const upload = await storage.presignUpload?.(sha256, size);
      if (!upload) return { type: "server" };
      // As in `put`, the row comes first, so that garbage collection leaves the blob alone.
      await upsertBlob(db, { sha256, size_bytes: size });
      return (await storage.stat(sha256)) ? { type: "stored" } : { type: "direct", ...upload };
    },
    downloadUrl: async (sha256) => storage.presignDownload?.(sha256),
    async userDownload(sha256, file) {
      if (!storage.presignUserDownload) return undefined;
      const size = (await storage.stat(sha256))?.size ?? 0;
      if (size < MIN_REDIRECT_BYTES) return undefined;
      return { url: await storage.presignUserDownload(sha256, file), size };
    },
  };
}
