import { type Config, type Flags, readConfig } from "@outrider/server/config";
import { findEmbedded, startEmbedded } from "@outrider/server/postgres/embedded-postgres";
import { copySettings, SNAPSHOT_CONNECTIONS } from "@outrider/server/store/backup/snapshot";
import { openDb, requireSupportedVersion } from "@outrider/server/store/connection/db";
import { requireNoPooler } from "@outrider/server/store/connection/pooler";
import { pino } from "pino";
import { exits, UsageError } from "./exit-codes.ts";

type Db = ReturnType<typeof openDb>;

export const locationOptions: readonly [flags: string, description: string][] = [
  [
    "--data-dir <path>",
    "directory for keys, files and the embedded database (OUTRIDER_DATA_DIR, default .outrider)",
  ],
  ["--database-url <url>", "external PostgreSQL 15 or later (DATABASE_URL)"],
];

export interface Installation {
  config: Config;
  /** Aborts on Ctrl-C, so that commands can undo what they started. */
  signal: AbortSignal;
  withDb<T>(work: (db: Db) => Promise<T>): Promise<T>;
}

/**
 * Runs a task with direct access to an installation's database. Uses --database-url, DATABASE_DIRECT_URL or
 * DATABASE_URL, or else the embedded database in the data directory. If no server is running, starts the embedded
 * database for the duration of the task.
 */
export async function withInstallation(
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
    await work({
      config,
      signal,
      withDb: (task) => withDb(databaseUrl ?? directUrlOf(config), config, task),
    });
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new UsageError("Interrupted. You can start it again.", {
      exit: exits.interrupted,
      code: "interrupted",
    });
  } finally {
    for (const name of ["SIGINT", "SIGTERM"] as const) process.off(name, interrupt);
  }
}

/** The address for commands, which execute few statements and can therefore do without a pooler. */
export function directUrlOf({ databaseUrl, databaseDirectUrl }: Config): string | undefined {
  return databaseDirectUrl ?? databaseUrl;
}

async function withDb<T>(
  url: string | undefined,
  { dataDir }: Config,
  work: (db: Db) => Promise<T>,
): Promise<T> {
  const running = url ?? (await findEmbedded(dataDir));
  const own = running ? undefined : await startEmbedded({ dataDir, log: pino({ level: "silent" }) });
  const db = openDb(running ?? (own as NonNullable<typeof own>).connection, {
    connections: SNAPSHOT_CONNECTIONS,
    applicationName: "outrider-cli",
    settings: copySettings,
  });
  try {
    await requireNoPooler(db, requireSupportedVersion);
    return await work(db);
  } finally {
    await db.end({ timeout: 1 });
    await own?.stop();
  }
}
