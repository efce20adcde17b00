import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { listSequences, listTables } from "../store/backup/catalogue.ts";
import { copyOut, rowsIn } from "../store/backup/copy.ts";
import { inSnapshot } from "../store/backup/snapshot.ts";
import { listNeededBlobs } from "../store/blobs.ts";
import { type Db, readClock, type Tx } from "../store/db.ts";
import { findFact } from "../store/installation.ts";
import { type AppliedMigration, listApplied, readMigrations } from "../store/migrate.ts";
import { writeEntry } from "./backup/entries.ts";
import { requireFree, writeBackupFile } from "./backup/file.ts";
import type { Manifest } from "./backup/manifest.ts";
import { fingerprintOf, sealMasterKey } from "./backup/sealed-key.ts";
import { Unfit } from "./backup/unfit.ts";
import { placeOf } from "./blobs.ts";

/** So far of a table, or of all files. */
export interface Progress {
  what: string;
  done: number;
  unit: "rows" | "files";
}

export interface BackupOptions {
  db: Db;
  path: string;
  /** Of blobs. */
  folder: string;
  version: string;
  withBuilds?: boolean;
  /** To go on where files that runs name are lost already. */
  withoutMissing?: boolean;
  /** The master key goes along, under the passphrase. */
  key?: { masterKey: Buffer; passphrase: string } | undefined;
  signal?: AbortSignal | undefined;
  progress?(progress: Progress): void;
}

/** All of an installation in one file, as it is at one moment. The service goes on meanwhile. */
export async function takeBackup(options: BackupOptions): Promise<Manifest> {
  const { db, path, key, signal, version, withBuilds = false } = options;
  requireFree(path);
  return inSnapshot(db, async (tx) => {
    const migrations = await requireUpToDate(tx);
    const fingerprint = (await findFact(tx, "master_key_fingerprint")) ?? "";
    if (key && fingerprintOf(key.masterKey) !== fingerprint)
      throw new Unfit(
        "The master key here is not that of the database. Set OUTRIDER_MASTER_KEY or OUTRIDER_DATA_DIR as its server has them.",
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

/** Which files runs need is known for the tables of this version alone. */
async function requireUpToDate(tx: Tx): Promise<AppliedMigration[]> {
  const known = new Set((await readMigrations()).map(({ number }) => number));
  const applied = await listApplied(tx).catch(() => {
    throw new Unfit("This is not a database of Outrider: there is nothing to back up.");
  });
  if (applied.some(({ number }) => !known.has(number)))
    throw new Unfit(
      "The database belongs to a newer version of Outrider: take the backup with that version.",
    );
  if (applied.length < known.size)
    throw new Unfit(
      "The database belongs to an older version of Outrider: take the backup with that version, or start this one on it first.",
    );
  return applied;
}

/** Files first: where one is lost, that is known before hours have passed. */
async function* entriesOf(tx: Tx, options: BackupOptions, manifest: Manifest): AsyncGenerator<Buffer> {
  yield* filesOf(tx, options, manifest);
  for (const table of await listTables(tx)) {
    const { name, columns } = table;
    const hash = createHash("sha256");
    const counted = { rows: 0, bytes: 0 };
    const content = tee(copyOut(tx, table), (chunk) => {
      hash.update(chunk);
      counted.rows += rowsIn(chunk);
      counted.bytes += chunk.length;
      options.progress?.({ what: name, done: counted.rows, unit: "rows" });
    });
    yield* writeEntry({ table: name, columns }, content);
    manifest.tables[name] = { ...counted, sha256: hash.digest("hex") };
  }
}

async function* filesOf(
  tx: Tx,
  { folder, withBuilds = false, withoutMissing, progress }: BackupOptions,
  { files }: Manifest,
): AsyncGenerator<Buffer> {
  for await (const batch of listNeededBlobs(tx, { withBuilds })) {
    for (const { sha256 } of batch) {
      const path = placeOf(folder, sha256);
      const found = await stat(path).catch(() => undefined);
      if (!found) {
        files.missing += 1;
        if (withoutMissing) continue;
        throw new Unfit(
          `${path} is missing, which a run needs. Say --data-dir as the server has it, or --without-missing to leave out what is lost.`,
        );
      }
      const hash = createHash("sha256");
      yield* writeEntry(
        { file: sha256 },
        tee(createReadStream(path), (chunk) => hash.update(chunk)),
      );
      if (hash.digest("hex") !== sha256)
        throw new Unfit(
          `${path} is damaged: its content does not have the hash that is its name. Move it away, and say --without-missing.`,
        );
      files.count += 1;
      files.bytes += found.size;
      progress?.({ what: "files", done: files.count, unit: "files" });
    }
  }
}

async function* tee(source: AsyncIterable<Buffer>, see: (chunk: Buffer) => void): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    see(chunk);
    yield chunk;
  }
}
