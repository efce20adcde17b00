import { statSync } from "node:fs";
import { resolve } from "node:path";
import { openStorage } from "@outrider/server/blobs/open-storage";
import type { Config } from "@outrider/server/config";
import { readMasterKey } from "@outrider/server/engine/auth/master-key";
import { takeBackup } from "@outrider/server/engine/operations/backup";
import { requireNewFile } from "@outrider/server/engine/operations/backup/file";
import { Command } from "commander";
import { exits, UsageError } from "../exit-codes.ts";
import { readPassphrase } from "../input/passphrase.ts";
import { count, createProgressReporter, megabytes } from "../terminal/progress.ts";
import { version } from "../version.ts";
import { locationOptions, withInstallation } from "../with-installation.ts";

interface BackupFlags {
  withMasterKey?: true;
  passphraseFile?: string;
  withBuilds?: true;
  withoutMissing?: true;
  quiet?: true;
  json?: true;
  dataDir?: string;
  databaseUrl?: string;
}

export const backupCommand = new Command("backup")
  .description("Back up the installation to a file. The server can keep running.")
  .argument("<file>", "target file; must not exist, is created readable only by you")
  .option("--with-master-key", "include the master key, encrypted with a passphrase")
  .option(
    "--passphrase-file <file>",
    "file with the passphrase (OUTRIDER_BACKUP_PASSPHRASE); default: prompt",
  )
  .option("--with-builds", "include builds that no run depends on; otherwise they are rebuilt when needed")
  .option("--without-missing", "skip files that are already lost, instead of failing")
  .option("-q, --quiet", "print nothing unless it fails")
  .option("--json", "print a summary as JSON")
  .option(...(locationOptions[0] as [string, string]))
  .option(...(locationOptions[1] as [string, string]))
  .action((file: string, flags: BackupFlags) =>
    withInstallation(flags, async ({ config, signal, withDb }) => {
      const path = resolve(file);
      requireNewFile(path);
      const key = flags.withMasterKey ? await readEncryptionKey(config, flags) : undefined;
      if (!key && flags.passphraseFile) throw new UsageError("--passphrase-file requires --with-master-key.");
      const isQuiet = flags.quiet === true;
      const { withBuilds = false, withoutMissing = false } = flags;
      const storage = await openStorage(config.blobs);
      const progress = createProgressReporter({ isQuiet });
      const options = { path, storage, version, key, signal, progress, withBuilds, withoutMissing };
      const { taken_at, tables, files } = await withDb((db) => takeBackup({ db, ...options }));
      const rows = Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, table.rows]));
      const size_bytes = statSync(path).size;
      if (flags.json)
        console.log(
          JSON.stringify({ file: path, size_bytes, taken_at, rows, files, with_master_key: !!key }),
        );
      if (isQuiet) return;
      const all = [
        count(rows.runs ?? 0, "run", "runs"),
        count(rows.events ?? 0, "event", "events"),
        count(files.count, "file", "files"),
      ];
      process.stderr.write(`${path}: ${all.join(", ")}, ${megabytes(size_bytes)}.\n`);
      if (files.missing > 0)
        process.stderr.write(`Skipped ${count(files.missing, "missing file", "missing files")}.\n`);
      if (!key)
        process.stderr.write(
          "The backup does not contain the master key. Keep a copy of it, or the secrets in the backup cannot be read.\n",
        );
    }),
  );

async function readEncryptionKey({ masterKey, dataDir }: Config, { passphraseFile }: BackupFlags) {
  const key = masterKey ?? (await readMasterKey(dataDir));
  if (!key)
    throw new UsageError(
      `Master key not found in ${dataDir}. Set OUTRIDER_MASTER_KEY to the value that the server uses.`,
      {
        exit: exits.failed,
      },
    );
  const file = passphraseFile === undefined ? {} : { file: passphraseFile };
  return { masterKey: key, passphrase: await readPassphrase({ ...file, isNew: true }) };
}
