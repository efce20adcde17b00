import { type Config, type Flags, readConfig } from "@outrider/server/config";
import { copySettings, SNAPSHOT_CONNECTIONS } from "@outrider/server/store/backup/snapshot";
import { openDb, requireSupportedVersion } from "@outrider/server/store/db";
import { findEmbedded, startEmbedded } from "@outrider/server/store/embedded";
import { pino } from "pino";
import { Complaint, exits } from "./exit.ts";

type Db = ReturnType<typeof openDb>;

export const placeOptions: readonly [flags: string, description: string][] = [
  ["--data-dir <path>", "where keys, files and the own database lie (OUTRIDER_DATA_DIR, .outrider)"],
  ["--database-url <url>", "a PostgreSQL of yours, 15 or later (DATABASE_URL)"],
];

export interface Installation {
  config: Config;
  /** Whose commands are interrupted by Ctrl-C: what they have begun is undone before they end. */
  signal: AbortSignal;
  withDb<T>(work: (db: Db) => Promise<T>): Promise<T>;
}

/**
 * For what speaks to a database for a long time and all of it: that of DATABASE_URL, that of a server which runs on the data
 * folder, or, where none does, the one in the data folder, started for as long as it takes.
 */
export async function onInstallation(
  { dataDir, databaseUrl }: Flags,
  work: (installation: Installation) => Promise<void>,
): Promise<void> {
  const config = readConfig({
    ...(dataDir === undefined ? {} : { dataDir }),
    ...(databaseUrl === undefined ? {} : { databaseUrl }),
  });
  const interruption = new AbortController();
  const interrupt = () => interruption.abort();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, interrupt);
  const { signal } = interruption;
  try {
    await work({ config, signal, withDb: (task) => withDb(config, task) });
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new Complaint("Interrupted. It can be begun again.", {
      exit: exits.interrupted,
      code: "interrupted",
    });
  } finally {
    for (const name of ["SIGINT", "SIGTERM"] as const) process.off(name, interrupt);
  }
}

async function withDb<T>({ databaseUrl, dataDir }: Config, work: (db: Db) => Promise<T>): Promise<T> {
  const running = databaseUrl ?? (await findEmbedded(dataDir));
  const own = running ? undefined : await startEmbedded({ dataDir, log: pino({ level: "silent" }) });
  const db = openDb(running ?? (own as NonNullable<typeof own>).connection, {
    connections: SNAPSHOT_CONNECTIONS,
    applicationName: "outrider-cli",
    settings: copySettings,
  });
  try {
    await requireSupportedVersion(db);
    return await work(db);
  } finally {
    await db.end({ timeout: 1 });
    await own?.stop();
  }
}
