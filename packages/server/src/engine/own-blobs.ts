import type { Logger } from "pino";
import { type BlobStorage, StorageError } from "../blobs/blob-storage.ts";
import { openStorage } from "../blobs/open-storage.ts";
import type { BlobSettings } from "../config/blobs.ts";
import type { Db } from "../store/connection/db.ts";
import { ensureInstallationId } from "../store/installation.ts";
import { type Blobs, openBlobs } from "./blobs.ts";

const LOG_EVERY_MS = 10_000;

/**
 * Opens the storage of this installation. Fails if the settings are wrong. A storage that is only unreachable does not
 * prevent a start: requests for files are then answered with 503, and their callers repeat them.
 */
export async function openOwnBlobs(
  settings: BlobSettings,
  { db, log }: { db: Db; log: Logger },
): Promise<Blobs> {
  const blobs = openBlobs(await openStorage(settings), db);
  let loggedAt = Number.NEGATIVE_INFINITY;
  blobs.stats.onFailure = ({ problem, message }) => {
    if (performance.now() - loggedAt < LOG_EVERY_MS) return;
    loggedAt = performance.now();
    log.warn({ problem, storage: blobs.storage.location, reason: message }, "storage of files failed");
  };
  try {
    await requireOwner(db, blobs.storage);
  } catch (error) {
    if (!(error instanceof StorageError && ["unreachable", "busy"].includes(error.problem))) throw error;
    log.warn({ storage: blobs.storage.location, reason: error.message }, "storage of files is unavailable");
  }
  return blobs;
}

/** Garbage collection would delete the files of another installation with the same bucket and prefix. */
export async function requireOwner(db: Db, storage: BlobStorage): Promise<void> {
  if (!storage.claim) return;
  const own = await ensureInstallationId(db);
  if ((await storage.claim(own)).trim() === own) return;
  throw new Error(
    `${storage.location} contains the files of another installation. Set OUTRIDER_BLOBS to another bucket or prefix, ` +
      "or delete the object outrider-installation in it if that installation no longer exists.",
  );
}
