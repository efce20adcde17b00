import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import type { BlobStorage } from "../../blobs/blob-storage.ts";
import {
  deleteBuildsWithoutFiles,
  forgetFold,
  revokeLeases,
  revokeTemporaryCredentials,
  shiftDeadlines,
} from "../../store/backup/after-restore.ts";
import { copyIn, countRowsIn } from "../../store/backup/copy.ts";
import {
  countRows,
  dropIndexesAndForeignKeys,
  isEmpty,
  listTables,
  setSequences,
} from "../../store/backup/tables.ts";
import { deleteOtherBlobRows } from "../../store/blobs.ts";
import type { Db, Tx } from "../../store/connection/db.ts";
import { lockMigrations, migrateWithin, readMigrations } from "../../store/migrate.ts";
import { BackupError } from "./backup/backup-error.ts";
import type { Entry } from "./backup/entries.ts";
import { type BackupFile, newerVersion, openBackupFile } from "./backup/file.ts";
import type { Manifest } from "./backup/manifest.ts";
import { fingerprintOf, openMasterKey } from "./backup/sealed-key.ts";
import type { Progress } from "./backup.ts";

export interface RestoreOptions {
  db: Db;
  backup: CheckedBackup;
  storage: BlobStorage;
  signal?: AbortSignal | undefined;
  progress?(progress: Progress): void;
}

export interface CheckedBackup extends BackupFile {
  path: string;
}

/** Verifies that a backup file is intact and that this version can restore it. Nothing is written. */
export async function checkBackup(path: string, signal?: AbortSignal): Promise<CheckedBackup> {
  const file = await openBackupFile(path, signal);
  const known = new Map((await readMigrations()).map(({ number, checksum }) => [number, checksum]));
  for (const { number, name, checksum } of file.manifest.migrations) {
    if (!known.has(number)) throw newerVersion(path);
    if (known.get(number) !== checksum)
      throw new BackupError(
        `${path} was created with a different ${name}. Restore it with the version that created it.`,
      );
  }
  return { ...file, path };
}

/** Returns the master key for the backup's secrets: the local key if it matches, or the key in the backup. */
export async function resolveMasterKey(
  { master_key: { fingerprint, sealed } }: Manifest,
  localKey: Buffer | undefined,
  askPassphrase: () => Promise<string>,
): Promise<{ key?: Buffer; isNew: boolean }> {
  if (localKey) {
    if (fingerprintOf(localKey) === fingerprint) return { key: localKey, isNew: false };
    throw new BackupError(
      "The local master key does not match the backup. Set OUTRIDER_MASTER_KEY to the backup's master key, " +
        "or move master.key out of the data folder if the backup includes the key.",
    );
  }
  if (!sealed) return { isNew: false };
  const key = openMasterKey(sealed, await askPassphrase());
  if (fingerprintOf(key) !== fingerprint)
    throw new BackupError("The master key in the backup does not match its fingerprint.");
  return { key, isNew: true };
}

export async function requireEmpty(sql: Db | Tx): Promise<void> {
  if (await isEmpty(sql)) return;
  throw new BackupError(
    "The database is not empty. Restore into a new database (DATABASE_URL) or a new data folder (OUTRIDER_DATA_DIR).",
  );
}

/**
 * Restores files first, then all rows in one transaction. Files have no effect until a row refers to them, so an
 * interrupted restore changes nothing and can be repeated.
 */
export async function restoreBackup(options: RestoreOptions): Promise<{ recovering: number }> {
  const { db, backup } = options;
  await requireEmpty(db);
  const recovering = await db.begin(async (tx) => {
    await lockMigrations(tx);
    await requireEmpty(tx);
    await load(tx, options);
    await migrateWithin(tx);
    return adjustToNow(tx, backup.manifest);
  });
  // Without table statistics, the first queries would use bad plans.
  await db`analyze`;
  return { recovering };
}

async function load(tx: Tx, { backup, storage, progress, signal }: RestoreOptions): Promise<void> {
  const { manifest } = backup;
  await migrateWithin(tx, new Set(manifest.migrations.map(({ number }) => number)));
  const tables = new Map((await listTables(tx)).map(({ name, columns }) => [name, columns]));
  const restoreStatements = await dropIndexesAndForeignKeys(tx);
  const seen = { tables: new Set<string>(), files: 0 };
  for await (const { heading, content } of backup.entries()) {
    signal?.throwIfAborted();
    if ("file" in heading) {
      await storage.put(heading.file, Readable.from(content));
      seen.files += 1;
      progress?.({ what: "files", done: seen.files, unit: "files" });
      continue;
    }
    const { table: name, columns } = heading;
    const expected = tables.get(name);
    if (!expected || expected.toSorted().join() !== columns.toSorted().join())
      throw new BackupError(`The columns of the backup's table ${name} do not match its migrations.`);
    // The backup also contains the rows that migrations inserted, so these are deleted first.
    await tx`delete from ${tx(name)}`;
    await loadTable(tx, { name, columns }, counted(name, content, progress), manifest);
    seen.tables.add(name);
  }
  const missing = [...tables.keys()].filter((name) => !seen.tables.has(name));
  if (missing.length > 0 || seen.files !== manifest.files.count)
    throw new BackupError(
      `The backup does not contain ${missing.join(", ") || "all files"} listed in its manifest.`,
    );
  for (const statement of restoreStatements) await tx.unsafe(statement);
  await setSequences(tx, manifest.sequences);
}

async function* counted(
  what: string,
  content: Entry["content"],
  progress: RestoreOptions["progress"],
): AsyncGenerator<Buffer> {
  let done = 0;
  for await (const chunk of content) {
    done += countRowsIn(chunk);
    yield chunk;
    progress?.({ what, done, unit: "rows" });
  }
}

async function loadTable(
  tx: Tx,
  table: { name: string; columns: string[] },
  content: Entry["content"],
  { tables }: Manifest,
): Promise<void> {
  const { name } = table;
  const hash = createHash("sha256");
  const hashed = async function* () {
    for await (const chunk of content) {
      hash.update(chunk);
      yield chunk;
    }
  };
  await copyIn(tx, table, hashed());
  const rows = await countRows(tx, name);
  if (rows !== tables[name]?.rows || hash.digest("hex") !== tables[name]?.sha256)
    throw new BackupError(
      `The rows of ${name} do not match the manifest: restored ${rows}, expected ${tables[name]?.rows}.`,
    );
}

/**
 * Shifts deadlines to the current time, revokes leases and temporary credentials, and deletes the rows of builds and
 * blobs that are not in the backup. Returns the number of recovering runs.
 */
async function adjustToNow(tx: Tx, { taken_at, with_builds }: Manifest): Promise<number> {
  await forgetFold(tx);
  await shiftDeadlines(tx, taken_at);
  if (!with_builds) await deleteBuildsWithoutFiles(tx);
  await deleteOtherBlobRows(tx, { withBuilds: with_builds });
  await revokeTemporaryCredentials(tx);
  return revokeLeases(tx);
}
