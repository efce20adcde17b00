import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Logger } from "pino";
import type { PostgresConnection } from "./db.ts";
import { prepareBinaries } from "./embedded/binaries.ts";
import { ensureCluster } from "./embedded/cluster.ts";
import { ensureDatabase } from "./embedded/database.ts";
import { superuser } from "./embedded/initdb.ts";
import { clearLeftovers, isPostmasterOf } from "./embedded/leftovers.ts";
import { acquireLock, type Lock } from "./embedded/lock.ts";
import { trimLog } from "./embedded/log-file.ts";
import { readPassword } from "./embedded/password.ts";
import { pidFilePath, readPidFile } from "./embedded/pid-file.ts";
import { choosePlace, type Place, prepareDataDir, sharedRoot } from "./embedded/place.ts";
import { startPostmaster } from "./embedded/postmaster.ts";
import { readProcess } from "./embedded/processes.ts";
import { serverSettings } from "./embedded/settings.ts";
import { port, prepareSocketFolder, removeSocketFolder } from "./embedded/socket.ts";
import { supervise } from "./embedded/supervisor.ts";

export interface EmbeddedPostgres {
  connection: PostgresConnection;
  /** May be called more than once. */
  stop(): Promise<void>;
}

const database = "outrider";

/** Runs a PostgreSQL of our own in the data folder, for this process alone, until stop(). */
export async function startEmbedded(options: { dataDir: string; log: Logger }): Promise<EmbeddedPostgres> {
  const { log } = options;
  const dataDir = prepareDataDir(options.dataDir);
  const locks = [await lockFolder(dataDir, dataDir)];
  const releaseLocks = () => {
    for (const lock of locks) lock.release();
  };
  try {
    const place = choosePlace({ dataDir, log });
    // A copied data folder may share, by its link, the database of the original.
    const home = dirname(place.cluster);
    if (home !== dataDir && home.startsWith(`${sharedRoot}/`)) locks.push(await lockFolder(home, dataDir));
    const running = await run(place, log);
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

/** The connection of an already running embedded server of this data folder; undefined when none runs. */
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
    `Another Outrider (pid ${result.owner.pid}) already runs on ${dataDir}: ` +
      "stop it, choose another OUTRIDER_DATA_DIR, or set DATABASE_URL.",
  );
}

async function run(place: Place, log: Logger): Promise<EmbeddedPostgres> {
  const { cluster, identity, logPath, dataDir } = place;
  const binaries = await prepareBinaries({ identity, copyTo: identity ? sharedRoot : dataDir, log });
  const socketFolder = prepareSocketFolder(place);
  await clearLeftovers({ cluster, socketFolder, log });
  const password = await ensureCluster({ place, binaries, log });
  trimLog(logPath);

  const settings = serverSettings({ cluster, socketFolder });
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
    removeSocketFolder(place, socketFolder);
  };
  const connection = { host: socketFolder, port, user: superuser, password, database };
  try {
    await ensureDatabase(connection);
  } catch (error) {
    await stop();
    throw error;
  }
  log.info({ cluster, socketFolder, uid: identity?.uid }, "PostgreSQL runs");
  return { connection, stop };
}
