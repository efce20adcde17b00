import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Logger } from "pino";
import type { PostgresConnection } from "../store/connection/db.ts";
import { prepareBinaries } from "./binaries.ts";
import { ensureCluster } from "./cluster.ts";
import { ensureDatabase } from "./database.ts";
import { superuser } from "./initdb.ts";
import { clearLeftovers, isPostmasterOf } from "./leftovers.ts";
import { acquireLock, type Lock } from "./lock.ts";
import { trimLog } from "./log-file.ts";
import { readProcess } from "./os-processes.ts";
import { readPassword } from "./password.ts";
import { type ClusterPaths, choosePaths, prepareDataDir, sharedRoot } from "./paths.ts";
import { pidFilePath, readPidFile } from "./pid-file.ts";
import { startPostmaster } from "./postmaster.ts";
import { serverSettings } from "./settings.ts";
import { port, prepareSocketFolder, removeSocketFolder } from "./socket.ts";
import { supervise } from "./supervisor.ts";

export interface EmbeddedPostgres {
  connection: PostgresConnection;
  /** Stops the server. Further calls have no effect. */
  stop(): Promise<void>;
}

const database = "outrider";

interface EmbeddedOptions {
  dataDir: string;
  /** Settings that replace those of this module. */
  settings?: Record<string, string>;
  log: Logger;
}

/** Runs an embedded PostgreSQL server in the data folder for this process only, until `stop` is called. */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { log, settings = {} } = options;
  const dataDir = prepareDataDir(options.dataDir);
  const locks = [await lockFolder(dataDir, dataDir)];
  const releaseLocks = () => {
    for (const lock of locks) lock.release();
  };
  try {
    const paths = choosePaths({ dataDir, log });
    // A copied data folder may link to the original folder's database, so that database is locked too.
    const home = dirname(paths.cluster);
    if (home !== dataDir && home.startsWith(`${sharedRoot}/`)) locks.push(await lockFolder(home, dataDir));
    const running = await run(paths, settings, log);
    let stopped: Promise<void> | undefined;
    const stop = () => {
      stopped ??= running.stop().finally(releaseLocks);
      return stopped;
    };
    return { connection: running.connection, stop };
  } catch (error) {
    releaseLocks();
    throw error;
  }
}

/**
 * Returns the connection details of the embedded server that is running in this data folder, or undefined if there is
 * none.
 */
export async function findEmbedded(dataDir: string): Promise<PostgresConnection | undefined> {
  const entry = join(dataDir, "postgres");
  const file = readPidFile(pidFilePath(entry));
  if (!file?.ready) return undefined;
  const command = readProcess(file.pid)?.command;
  if (!command || !isPostmasterOf(realpathSync(entry), command)) return undefined;
  const password = readPassword({ passwordPath: join(dataDir, "postgres.password") });
  return password
    ? { host: file.socketFolder, port: file.port, user: superuser, password, database }
    : undefined;
}

async function lockFolder(folder: string, dataDir: string): Promise<Lock> {
  const result = await acquireLock(join(folder, "server.lock"));
  if ("lock" in result) return result.lock;
  throw new Error(
    `Another Outrider server (pid ${result.ownerPid}) already uses ${dataDir}. ` +
      "Stop it, choose another OUTRIDER_DATA_DIR, or set DATABASE_URL.",
  );
}

async function run(
  paths: ClusterPaths,
  replaced: Record<string, string>,
  log: Logger,
): Promise<EmbeddedPostgres> {
  const { cluster, identity, logPath, dataDir } = paths;
  const binaries = await prepareBinaries({ identity, copyTo: identity ? sharedRoot : dataDir, log });
  const socketFolder = prepareSocketFolder(paths);
  await clearLeftovers({ cluster, socketFolder, log });
  const password = await ensureCluster({ paths, binaries, log });
  trimLog(logPath);

  const settings = { ...serverSettings({ cluster, socketFolder }), ...replaced };
  const supervisor = await supervise({
    launch: async (signal) => {
      await clearLeftovers({ cluster, socketFolder, log });
      return startPostmaster({ postgres: binaries.postgres, cluster, settings, logPath, identity }, signal);
    },
    logPath,
    log,
  });
  const stop = async () => {
    await supervisor.stop();
    removeSocketFolder(paths, socketFolder);
  };
  const connection = { host: socketFolder, port, user: superuser, password, database };
  try {
    await ensureDatabase(connection);
  } catch (error) {
    await stop();
    throw error;
  }
  log.info({ cluster, socketFolder, uid: identity?.uid }, "PostgreSQL started");
  return { connection, stop };
}
