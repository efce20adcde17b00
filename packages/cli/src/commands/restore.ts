import { mkdir } from "node:fs/promises";
import { resolve } from "node:path";
import { openStorage } from "@outrider/server/blobs/open-storage";
import { readMasterKey, storeMasterKey } from "@outrider/server/engine/auth/master-key";
import {
  checkBackup,
  requireEmpty,
  resolveMasterKey,
  restoreBackup,
} from "@outrider/server/engine/operations/restore";
import { Command } from "commander";
import { readPassphrase } from "../input/passphrase.ts";
import { count, createProgressReporter } from "../terminal/progress.ts";
import { locationOptions, withInstallation } from "../with-installation.ts";

interface RestoreFlags {
  passphraseFile?: string;
  quiet?: true;
  json?: true;
  dataDir?: string;
  databaseUrl?: string;
}

export const restoreCommand = new Command("restore")
  .description(
    "Restore the installation from a backup. The database must be empty, and no server may be running.",
  )
  .argument("<file>", "backup file")
  .option(
    "--passphrase-file <file>",
    "file with the passphrase (OUTRIDER_BACKUP_PASSPHRASE); default: prompt",
  )
  .option("-q, --quiet", "print nothing unless it fails")
  .option("--json", "print a summary as JSON")
  .option(...(locationOptions[0] as [string, string]))
  .option(...(locationOptions[1] as [string, string]))
  .action((file: string, flags: RestoreFlags) =>
    withInstallation(flags, async ({ config, signal, withDb }) => {
      const { dataDir } = config;
      const backup = await checkBackup(resolve(file), signal);
      const { manifest } = backup;
      const from = flags.passphraseFile === undefined ? {} : { file: flags.passphraseFile };
      const existingKey = config.masterKey ?? (await readMasterKey(dataDir));
      const { key, isNew } = await resolveMasterKey(manifest, existingKey, () =>
        readPassphrase({ ...from, isNew: false }),
      );
      const isQuiet = flags.quiet === true;
      const progress = createProgressReporter({ isQuiet });
      const { recovering } = await withDb(async (db) => {
        await requireEmpty(db);
        await mkdir(dataDir, { recursive: true, mode: 0o711 });
        // Store the key before the rows are committed, so that a repeated restore finds the matching key.
        if (key && isNew) await storeMasterKey(dataDir, key);
        return restoreBackup({ db, backup, storage: await openStorage(config.blobs), signal, progress });
      });
      const rows = Object.fromEntries(
        Object.entries(manifest.tables).map(([name, table]) => [name, table.rows]),
      );
      const { taken_at, files } = manifest;
      if (flags.json)
        console.log(JSON.stringify({ taken_at, rows, files, recovering, has_master_key: key !== undefined }));
      // Print this even with --quiet, because the first start fails without the key.
      if (!key)
        process.stderr.write(
          "The master key is missing, and secrets cannot be read without it. Before the first start, set OUTRIDER_MASTER_KEY\n" +
            `to the key of the backed-up installation, or copy its master.key to ${dataDir}.\n`,
        );
      if (isQuiet) return;
      const all = [
        count(rows.runs ?? 0, "run", "runs"),
        count(rows.events ?? 0, "event", "events"),
        count(files.count, "file", "files"),
      ];
      process.stderr.write(`Restored as of ${taken_at}: ${all.join(", ")}.\n`);
      if (recovering > 0)
        process.stderr.write(
          `${count(recovering, "run continues", "runs continue")} when a worker connects.\n`,
        );
    }),
  );
