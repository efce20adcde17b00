import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { adoptBlobs, dropUnusedBlobs, listBlobs } from "../store/blobs.ts";
import type { Db } from "../store/db.ts";
import { lockRetention } from "../store/retention.ts";
import { placeOf } from "./blobs.ts";

/** What was stored within this time may be named by a report that is still on its way. */
export const GRACE_HOURS = 24;
const GRACE_MS = GRACE_HOURS * 3_600_000;
const BATCH = 500;
const isHash = /^[0-9a-f]{64}$/;

/**
 * Removes files that no run, artifact or build names any more. A file is removed while its row is held: who stores the same
 * content at that moment waits, and then finds that it must be put there again (blobs.ts). So any number of servers may
 * share the folder.
 */
export async function sweepBlobs(db: Db, folder: string): Promise<number> {
  await adoptStrays(db, folder);
  let removed = 0;
  for (let after = ""; ; ) {
    const hashes = await listBlobs(db, after, BATCH);
    const last = hashes.at(-1);
    if (last === undefined) return removed;
    const swept = await db.begin(async (tx) => {
      if (!(await lockRetention(tx))) return undefined;
      const unused = await dropUnusedBlobs(tx, hashes, GRACE_HOURS);
      for (const sha256 of unused) {
        // A server of an earlier version stores files without a row: the file's own age has the last word.
        const found = await stat(placeOf(folder, sha256)).catch(() => undefined);
        if (found && Date.now() - found.mtimeMs > GRACE_MS)
          await rm(placeOf(folder, sha256), { force: true });
      }
      return unused.length;
    });
    if (swept === undefined) return removed;
    removed += swept;
    after = last;
  }
}

/** Files without a row are those of an earlier version; drafts that were never finished go. */
async function adoptStrays(db: Db, folder: string): Promise<void> {
  for (const part of await readdir(folder).catch(() => [])) {
    const names = await readdir(join(folder, part)).catch(() => []);
    const files = await Promise.all(
      names.map(async (name) => ({
        name,
        found: await stat(join(folder, part, name)).catch(() => undefined),
      })),
    );
    const strays = files.flatMap(({ name, found }) =>
      found && isHash.test(name) ? [{ sha256: name, size_bytes: found.size }] : [],
    );
    if (strays.length > 0) await adoptBlobs(db, strays);
    for (const { name, found } of files) {
      const isLeft = name.endsWith(".part") && found && Date.now() - found.mtimeMs > GRACE_MS;
      if (isLeft) await rm(join(folder, part, name), { force: true });
    }
  }
}
