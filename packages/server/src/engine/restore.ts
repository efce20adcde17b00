import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { countRows, isEmpty, listTables, setAside, setSequences } from "../store/backup/catalogue.ts";
import { copyIn, rowsIn } from "../store/backup/copy.ts";
import { forgetBuilds, revokeEntrances, revokeLeases, shiftBounds } from "../store/backup/revive.ts";
import { forgetOtherBlobs } from "../store/blobs.ts";
import type { Db, Tx } from "../store/db.ts";
import { lockMigrations, migrateWithin, readMigrations } from "../store/migrate.ts";
import type { Entry } from "./backup/entries.ts";
import { type BackupFile, newer, openBackupFile } from "./backup/file.ts";
import type { Manifest } from "./backup/manifest.ts";
import { fingerprintOf, openMasterKey } from "./backup/sealed-key.ts";
import { Unfit } from "./backup/unfit.ts";
import type { Progress } from "./backup.ts";
import { placeBlob } from "./blobs.ts";

export interface RestoreOptions {
  db: Db;
  backup: CheckedBackup;
  /** Of blobs. */
  folder: string;
  signal?: AbortSignal | undefined;
  progress?(progress: Progress): void;
}

export interface CheckedBackup extends BackupFile {
  path: string;
}

/** Reads the file once, whole, and refuses what this version cannot restore. Nothing is written. */
export async function checkBackup(path: string, signal?: AbortSignal): Promise<CheckedBackup> {
  const file = await openBackupFile(path, signal);
  const known = new Map((await readMigrations()).map(({ number, checksum }) => [number, checksum]));
  for (const { number, name, checksum } of file.manifest.migrations) {
    if (!known.has(number)) throw newer(path);
    if (known.get(number) !== checksum)
      throw new Unfit(
        `${path} was made with another ${name} than this version has: restore it with its own version.`,
      );
  }
  return { ...file, path };
}

/** The key that opens the backup's secrets: the one that is here, or the one in the backup. Refuses any other. */
export async function settleMasterKey(
  { master_key: { fingerprint, sealed } }: Manifest,
  here: Buffer | undefined,
  askPassphrase: () => Promise<string>,
): Promise<{ key?: Buffer; isNew: boolean }> {
  if (here) {
    if (fingerprintOf(here) === fingerprint) return { key: here, isNew: false };
    throw new Unfit(
      "The master key here is not the one that the backup's secrets are sealed with. Set OUTRIDER_MASTER_KEY to that one, " +
        "or move master.key out of the data folder if the key is in the backup.",
    );
  }
  if (!sealed) return { isNew: false };
  const key = openMasterKey(sealed, await askPassphrase());
  if (fingerprintOf(key) !== fingerprint)
    throw new Unfit("The backup holds another master key than it says.");
  return { key, isNew: true };
}

export async function requireEmpty(sql: Db | Tx): Promise<void> {
  if (await isEmpty(sql)) return;
  throw new Unfit(
    "The database is not empty: restore into a new one (another DATABASE_URL), or into a new data folder (OUTRIDER_DATA_DIR).",
  );
}

/**
 * Files first, which mean nothing until a row names them, then all rows in one transaction: what is interrupted has
 * changed nothing, and can be begun again.
 */
export async function restoreBackup(options: RestoreOptions): Promise<{ recovering: number }> {
  const { db, backup } = options;
  await requireEmpty(db);
  const recovering = await db.begin(async (tx) => {
    await lockMigrations(tx);
    await requireEmpty(tx);
    await load(tx, options);
    await migrateWithin(tx);
    return revive(tx, backup.manifest);
  });
  // Without figures on what is there, the first lists would be planned badly.
  await db`analyze`;
  return { recovering };
}

async function load(tx: Tx, { backup, folder, progress, signal }: RestoreOptions): Promise<void> {
  const { manifest } = backup;
  await migrateWithin(tx, new Set(manifest.migrations.map(({ number }) => number)));
  const tables = new Map((await listTables(tx)).map(({ name, columns }) => [name, columns]));
  const aside = await setAside(tx);
  const seen = { tables: new Set<string>(), files: 0 };
  for await (const { heading, content } of backup.entries()) {
    signal?.throwIfAborted();
    if ("file" in heading) {
      await placeBlob({ folder, sha256: heading.file, content: Readable.from(content) });
      seen.files += 1;
      progress?.({ what: "files", done: seen.files, unit: "files" });
      continue;
    }
    const { table: name, columns } = heading;
    const own = tables.get(name);
    if (!own || own.toSorted().join() !== columns.toSorted().join())
      throw new Unfit(`The backup's table ${name} is not as its migrations make it.`);
    // What a migration has put there is in the backup, too.
    await tx`delete from ${tx(name)}`;
    await loadTable(tx, { name, columns }, counted(name, content, progress), manifest);
    seen.tables.add(name);
  }
  const forgotten = [...tables.keys()].filter((name) => !seen.tables.has(name));
  if (forgotten.length > 0 || seen.files !== manifest.files.count)
    throw new Unfit(`The backup lacks ${forgotten.join(", ") || "files"}, which its manifest names.`);
  for (const statement of aside) await tx.unsafe(statement);
  await setSequences(tx, manifest.sequences);
}

async function* counted(
  what: string,
  content: Entry["content"],
  progress: RestoreOptions["progress"],
): AsyncGenerator<Buffer> {
  let done = 0;
  for await (const chunk of content) {
    done += rowsIn(chunk);
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
    throw new Unfit(
      `The rows of ${name} are not those of the backup: ${rows} came, not ${tables[name]?.rows}.`,
    );
}

async function revive(tx: Tx, { taken_at, with_builds }: Manifest): Promise<number> {
  await shiftBounds(tx, taken_at);
  if (!with_builds) await forgetBuilds(tx);
  await forgetOtherBlobs(tx, { withBuilds: with_builds });
  await revokeEntrances(tx);
  return revokeLeases(tx);
}
