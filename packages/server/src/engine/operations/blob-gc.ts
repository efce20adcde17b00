import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { adoptBlobs, deleteUnusedBlobs, listBlobs } from "../../store/blobs.ts";
import type { Db } from "../../store/connection/db.ts";
import { tryLockRetention } from "../../store/retention.ts";
import { blobPath } from "../blobs.ts";

/** Blobs younger than this are kept, because a report that refers to them may still arrive. */
export const GRACE_HOURS = 24;
const GRACE_MS = GRACE_HOURS * 3_600_000;
const BATCH = 500;
const isHash = /^[0-9a-f]{64}$/;

/**
 * Garbage-collects blobs by removing files that no run, artifact or build refers to. Each file is removed while its row
 * is locked. A concurrent upload of the same content waits for that lock and then writes the file again (blobs.ts), so
 * it is safe for several servers to share the folder.
 */
export async function collectBlobs(db: Db, folder: string): Promise<number> {
  await adoptUntrackedFiles(db, folder);
  let removed = 0;
  for (let after = ""; ; ) {
    const hashes = await listBlobs(db, after, BATCH);
    const last = hashes.at(-1);
    if (last === undefined) return removed;
    const deleted = await db.begin(async (tx) => {
      if (!(await tryLockRetention(tx))) return undefined;
      const unused = await deleteUnusedBlobs(tx, hashes, GRACE_HOURS);
      for (const sha256 of unused) {
        // Servers running an earlier version store files without a row, so the file's age is checked as well.
        const found = await stat(blobPath(folder, sha256)).catch(() => undefined);
        if (found && Date.now() - found.mtimeMs > GRACE_MS)
          await rm(blobPath(folder, sha256), { force: true });
      }
      return unused.length;
    });
    if (deleted === undefined) return removed;
    removed += deleted;
    after = last;
  }
}

/** Creates rows for files that an earlier version stored without one, and removes abandoned temporary files. */
async function adoptUntrackedFiles(db: Db, folder: string): Promise<void> {
  for (const part of await readdir(folder).catch(() => [])) {
    const names = await readdir(join(folder, part)).catch(() => []);
    const files = await Promise.all(
      names.map(async (name) => ({
        name,
        found: await stat(join(folder, part, name)).catch(() => undefined),
      })),
    );
    const untracked = files.flatMap(({ name, found }) =>
      found && isHash.test(name) ? [{ sha256: name, size_bytes: found.size }] : [],
    );
    if (untracked.length > 0) await adoptBlobs(db, untracked);
    for (const { name, found } of files) {
      const isAbandoned = name.endsWith(".part") && found && Date.now() - found.mtimeMs > GRACE_MS;
      if (isAbandoned) await rm(join(folder, part, name), { force: true });
    }
  }
}
