import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { keepMasterKey, readMasterKey } from "@outrider/server/engine/master-key";
import { checkBackup, requireEmpty, restoreBackup, settleMasterKey } from "@outrider/server/engine/restore";
import { Command } from "commander";
import { readPassphrase } from "../input/passphrase.ts";
import { onInstallation, placeOptions } from "../installation.ts";
import { count, progressLines } from "../terminal/progress.ts";

interface RestoreFlags {
  passphraseFile?: string;
  quiet?: true;
  json?: true;
  dataDir?: string;
  databaseUrl?: string;
}

export const restoreCommand = new Command("restore")
  .description("Make an installation out of a backup. Its database must be empty, and no server on it.")
  .argument("<file>", "as `outrider backup` wrote it")
  .option(
    "--passphrase-file <file>",
    "holds the passphrase (OUTRIDER_BACKUP_PASSPHRASE); else it is asked for",
  )
  .option("-q, --quiet", "say nothing unless it fails")
  .option("--json", "what was restored, as one JSON document")
  .option(...(placeOptions[0] as [string, string]))
  .option(...(placeOptions[1] as [string, string]))
  .action((file: string, flags: RestoreFlags) =>
    onInstallation(flags, async ({ config, signal, withDb }) => {
      const { dataDir } = config;
      const backup = await checkBackup(resolve(file), signal);
      const { manifest } = backup;
      const from = flags.passphraseFile === undefined ? {} : { file: flags.passphraseFile };
      const here = config.masterKey ?? (await readMasterKey(dataDir));
      const { key, isNew } = await settleMasterKey(manifest, here, () =>
        readPassphrase({ ...from, isNew: false }),
      );
      const isQuiet = flags.quiet === true;
      const progress = progressLines({ isQuiet });
      const { recovering } = await withDb(async (db) => {
        await requireEmpty(db);
        await mkdir(dataDir, { recursive: true, mode: 0o711 });
        // Before the rows are there for good: a restore that is begun again finds it, and it fits.
        if (key && isNew) await keepMasterKey(dataDir, key);
        return restoreBackup({ db, backup, folder: join(dataDir, "blobs"), signal, progress });
      });
      const rows = Object.fromEntries(
        Object.entries(manifest.tables).map(([name, table]) => [name, table.rows]),
      );
      const { taken_at, files } = manifest;
      if (flags.json)
        console.log(JSON.stringify({ taken_at, rows, files, recovering, has_master_key: key !== undefined }));
      // Said to the quiet, too: the first start fails without.
      if (!key)
        process.stderr.write(
          "The master key is not here: set OUTRIDER_MASTER_KEY to the one that this backup's installation had,\n" +
            `or put its master.key into ${dataDir}, before the first start. Secrets cannot be read without it.\n`,
        );
      if (isQuiet) return;
      const all = [
        count(rows.runs ?? 0, "run", "runs"),
        count(rows.events ?? 0, "event", "events"),
        count(files.count, "file", "files"),
      ];
      process.stderr.write(`Restored as of ${taken_at}: ${all.join(", ")}.\n`);
      if (recovering > 0)
        process.stderr.write(`${count(recovering, "run goes", "runs go")} on once a worker is there.\n`);
    }),
  );
