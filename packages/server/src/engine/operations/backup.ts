import { createHash } from "node:crypto";
import { type BlobStorage, relativePath } from "../../blobs/blob-storage.ts";
import { copyOut, countRowsIn } from "../../store/backup/copy.ts";
import { inSnapshot } from "../../store/backup/snapshot.ts";
import { listSequences, listTables } from "../../store/backup/tables.ts";
import { listNeededBlobs } from "../../store/blobs.ts";
import { type Db, readClock, type Tx } from "../../store/connection/db.ts";
import { findInstallationFact } from "../../store/installation.ts";
import { type AppliedMigration, listApplied, readMigrations } from "../../store/migrate.ts";
import { BackupError } from "./backup/backup-error.ts";
import { writeEntry } from "./backup/entries.ts";
import { requireNewFile, writeBackupFile } from "./backup/file.ts";
import type { Manifest } from "./backup/manifest.ts";
import { fingerprintOf, sealMasterKey } from "./backup/sealed-key.ts";

/** Reports progress for one table, or for all files together. */
export interface Progress {
  what: string;
  done: number;
  unit: "rows" | "files";
}

export interface BackupOptions {
  db: Db;
  path: string;
  storage: BlobStorage;
  version: string;
  withBuilds?: boolean;
  /** Creates the backup even if files that runs refer to are missing. */
  withoutMissing?: boolean;
  /** Includes the master key, encrypted with the passphrase. */
  key?: { masterKey: Buffer; passphrase: string } | undefined;
  signal?: AbortSignal | undefined;
  progress?(progress: Progress): void;
}

/** Writes a consistent backup of the installation to one file. The service can continue to run during the backup. */
export async function takeBackup(options: BackupOptions): Promise<Manifest> {
  const { db, path, key, signal, version, withBuilds = false } = options;
  requireNewFile(path);
  return inSnapshot(db, async (tx) => {
    const migrations = await requireUpToDate(tx);
    const fingerprint = (await findInstallationFact(tx, "master_key_fingerprint")) ?? "";
    if (key && fingerprintOf(key.masterKey) !== fingerprint)
      throw new BackupError(
        "The master key does not match the database. Set OUTRIDER_MASTER_KEY or OUTRIDER_DATA_DIR to the server's values.",
      );
    const [server] = await tx<{ server_version: string }[]>`show server_version`;
    const manifest: Manifest = {
      outrider: version,
      postgres: server?.server_version as string,
      taken_at: await readClock(tx),
      migrations,
      tables: {},
      sequences: await listSequences(tx),
      files: { count: 0, bytes: 0, missing: 0 },
      with_builds: withBuilds,
      master_key: {
        fingerprint,
        ...(key ? { sealed: sealMasterKey(key.masterKey, key.passphrase) } : {}),
      },
    };
    await writeBackupFile({
      path,
      entries: entriesOf(tx, options, manifest),
      manifest: () => manifest,
      signal,
    });
    return manifest;
  });
}

/** Throws unless the schema matches this version, because finding the files that runs refer to depends on it. */
async function requireUpToDate(tx: Tx): Promise<AppliedMigration[]> {
  const known = new Set((await readMigrations()).map(({ number }) => number));
  const applied = await listApplied(tx).catch(() => {
    throw new BackupError("This is not an Outrider database, so there is nothing to back up.");
  });
  if (applied.some(({ number }) => !known.has(number)))
    throw new BackupError(
      "The database belongs to a newer version of Outrider. Use that version to create the backup.",
    );
  if (applied.length < known.size)
    throw new BackupError(
      "The database belongs to an older version of Outrider. Use that version to create the backup, or start this version on the database first.",
    );
  return applied;
}

/** Writes files before tables, so that a missing file is reported early. */
async function* entriesOf(tx: Tx, options: BackupOptions, manifest: Manifest): AsyncGenerator<Buffer> {
  yield* filesOf(tx, options, manifest);
  for (const table of await listTables(tx)) {
    const { name, columns } = table;
    const hash = createHash("sha256");
    const counted = { rows: 0, bytes: 0 };
    const content = tee(copyOut(tx, table), (chunk) => {
      hash.update(chunk);
      counted.rows += countRowsIn(chunk);
      counted.bytes += chunk.length;
      options.progress?.({ what: name, done: counted.rows, unit: "rows" });
    });
    yield* writeEntry({ table: name, columns }, content);
    manifest.tables[name] = { ...counted, sha256: hash.digest("hex") };
  }
}

async function* filesOf(
  tx: Tx,
  { storage, withBuilds = false, withoutMissing, progress }: BackupOptions,
  { files }: Manifest,
): AsyncGenerator<Buffer> {
  for await (const batch of listNeededBlobs(tx, { withBuilds })) {
    for (const { sha256 } of batch) {
      const path = `${storage.location}/${relativePath(sha256)}`;
      const found = await storage.open(sha256);
      if (!found) {
        files.missing += 1;
        if (withoutMissing) continue;
        throw new BackupError(
          `${path} is missing, but a run needs it. Set --data-dir to the server's data folder, or pass --without-missing to skip missing files.`,
        );
      }
      const hash = createHash("sha256");
      yield* writeEntry(
        { file: sha256 },
        tee(found.content, (chunk) => hash.update(chunk)),
      );
      if (hash.digest("hex") !== sha256)
        throw new BackupError(
          `${path} is damaged: its content does not match its SHA-256. Move the file to another location and pass --without-missing.`,
        );
      files.count += 1;
      files.bytes += found.size;
      progress?.({ what: "files", done: files.count, unit: "files" });
    }
  }
}

async function* tee(source: AsyncIterable<Buffer>, onChunk: (chunk: Buffer) => void): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    onChunk(chunk);
    yield chunk;
  }
}
