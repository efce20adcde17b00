import type { BlobStorage } from "../../blobs/blob-storage.ts";
import { adoptBlobs, deleteUnusedBlobs, listBlobs } from "../../store/blobs.ts";
import type { Db } from "../../store/connection/db.ts";
import { isDue } from "../../store/installation.ts";
import { tryLockRetention } from "../../store/retention.ts";

/** Blobs younger than this are kept, because a report that refers to them may still arrive. */
export const GRACE_HOURS = 24;
const GRACE_MS = GRACE_HOURS * 3_600_000;
const BATCH = 500;
const LIST_EVERY_HOURS = 23;

/**
 * Garbage-collects blobs by removing those that no run, artifact or build refers to. Each blob is removed while its row
 * is locked. A concurrent upload of the same content waits for that lock and then stores the blob again (blobs.ts), so
 * it is safe for several servers to share the storage.
 */
export async function collectBlobs(db: Db, storage: BlobStorage, now = Date.now()): Promise<number> {
  const storedBefore = new Date(now - GRACE_MS);
  // Listing a bucket is slow and has a price, and objects without a row are rare.
  if (storage.folder || (await isDue(db, "blobs_listed_at", LIST_EVERY_HOURS)))
    await adoptUntracked(db, storage);
  await storage.deleteAbandonedUploads(storedBefore);
  let removed = 0;
  for (let after = ""; ; ) {
    const hashes = await listBlobs(db, after, BATCH);
    const last = hashes.at(-1);
    if (last === undefined) return removed;
    const deleted = await db.begin(async (tx) => {
      if (!(await tryLockRetention(tx))) return undefined;
      const unused = await deleteUnusedBlobs(tx, hashes, GRACE_HOURS);
      // Servers running an earlier version store files without a row, so the blob's age is checked as well.
      if (unused.length > 0) await storage.delete(unused, { storedBefore });
      return unused.length;
    });
    if (deleted === undefined) return removed;
    removed += deleted;
    after = last;
  }
}

/** Creates rows for blobs without one: an earlier version, or another program, has stored them. */
async function adoptUntracked(db: Db, storage: BlobStorage): Promise<void> {
  for await (const found of storage.list())
    if (found.length > 0)
      await adoptBlobs(
        db,
        found.map(({ sha256, size }) => ({ sha256, size_bytes: size })),
      );
}
