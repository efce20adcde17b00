import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Config } from "@outrider/server/config";
import { takeBackup } from "@outrider/server/engine/backup";
import { requireFree } from "@outrider/server/engine/backup/file";
import { readMasterKey } from "@outrider/server/engine/master-key";
import { Command } from "commander";
import { Complaint, exits } from "../exit.ts";
import { readPassphrase } from "../input/passphrase.ts";
import { onInstallation, placeOptions } from "../installation.ts";
import { count, megabytes, progressLines } from "../terminal/progress.ts";
import { version } from "../version.ts";

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
  .description("Write all of this installation into one file. Its server may run and work meanwhile.")
  .argument("<file>", "must not be there yet; readable for you alone")
  .option("--with-master-key", "the key that secrets are sealed with goes along, under a passphrase")
  .option(
    "--passphrase-file <file>",
    "holds the passphrase (OUTRIDER_BACKUP_PASSPHRASE); else it is asked for",
  )
  .option("--with-builds", "also builds that no run goes on from; without it they are made again when needed")
  .option("--without-missing", "leave out files of runs that are lost already, instead of refusing")
  .option("-q, --quiet", "say nothing unless it fails")
  .option("--json", "what was written, as one JSON document")
  .option(...(placeOptions[0] as [string, string]))
  .option(...(placeOptions[1] as [string, string]))
  .action((file: string, flags: BackupFlags) =>
    onInstallation(flags, async ({ config, signal, withDb }) => {
      const path = resolve(file);
      requireFree(path);
      const key = flags.withMasterKey ? await keyOf(config, flags) : undefined;
      if (!key && flags.passphraseFile)
        throw new Complaint("--passphrase-file is for the master key: say --with-master-key as well.");
      const isQuiet = flags.quiet === true;
      const { withBuilds = false, withoutMissing = false } = flags;
      const folder = join(config.dataDir, "blobs");
      const progress = progressLines({ isQuiet });
      const options = { path, folder, version, key, signal, progress, withBuilds, withoutMissing };
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
        process.stderr.write(`Left out, because lost: ${count(files.missing, "file", "files")}.\n`);
      if (!key)
        process.stderr.write("The master key is not in it: keep it elsewhere, or secrets cannot be read.\n");
    }),
  );

async function keyOf({ masterKey, dataDir }: Config, { passphraseFile }: BackupFlags) {
  const key = masterKey ?? (await readMasterKey(dataDir));
  if (!key)
    throw new Complaint(
      `There is no master key in ${dataDir}: set OUTRIDER_MASTER_KEY as the server has it.`,
      {
        exit: exits.failed,
      },
    );
  const file = passphraseFile === undefined ? {} : { file: passphraseFile };
  return { masterKey: key, passphrase: await readPassphrase({ ...file, isNew: true }) };
}
