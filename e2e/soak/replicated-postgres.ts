import { chmodSync, cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Binaries, prepareBinaries } from "@outrider/server/postgres/binaries";
import { ensureCluster } from "@outrider/server/postgres/cluster";
import { ensureDatabase } from "@outrider/server/postgres/database";
import { giveTo } from "@outrider/server/postgres/identity";
import { superuser } from "@outrider/server/postgres/initdb";
import { clearLeftovers } from "@outrider/server/postgres/leftovers";
import { type ClusterPaths, choosePaths, prepareDataDir, sharedRoot } from "@outrider/server/postgres/paths";
import { type Postmaster, startPostmaster } from "@outrider/server/postgres/postmaster";
import { serverSettings } from "@outrider/server/postgres/settings";
import { port, prepareSocketFolder, socketPath } from "@outrider/server/postgres/socket";
import { openDb, type PostgresConnection } from "@outrider/server/store/connection/db";
import { pino } from "pino";
import { waitFor } from "../chaos/wait-for.ts";

const STANDBY = "standby";
const log = pino({ level: "silent" });

/** A PostgreSQL and its synchronous streaming standby. A commit is acknowledged once both have written it to disk. */
export interface ReplicatedPostgres {
  /** Connects to the current primary. */
  connection(): PostgresConnection;
  socket(): string;
  standbySocket(): string;
  /** Crashes the primary and starts it again on the same files. */
  restart(): Promise<void>;
  /** Crashes the primary for good. */
  losePrimary(): Promise<void>;
  /** Promotes the standby to primary. */
  promote(): Promise<void>;
  stop(): Promise<void>;
}

export async function startReplicatedPostgres(folder: string): Promise<ReplicatedPostgres> {
  const paths = choosePaths({ dataDir: prepareDataDir(join(folder, "primary")), log });
  const binaries = await prepareBinaries({ identity: paths.identity, copyTo: sharedRoot, log });
  const password = await ensureCluster({ paths, binaries, log });
  const standbyPaths = copyCluster(paths, prepareDataDir(join(folder, STANDBY)));
  const primary = openNode(paths, binaries, {
    synchronous_standby_names: STANDBY,
    // The primary keeps the WAL that a disconnected standby still needs.
    wal_keep_size: "1GB",
  });
  configureStandby(standbyPaths, { host: primary.socketFolder, password });
  const standby = openNode(standbyPaths, binaries, { wal_retrieve_retry_interval: "500ms" });
  const connectionTo = ({ socketFolder }: Node): PostgresConnection => ({
    ...{ host: socketFolder, port, user: superuser, password, database: "outrider" },
  });
  await primary.start();
  await standby.start();
  await ensureDatabase(connectionTo(primary));
  let current = primary;
  return {
    connection: () => connectionTo(current),
    socket: () => socketPath(current.socketFolder),
    standbySocket: () => socketPath(standby.socketFolder),
    async restart() {
      await current.crash();
      await current.start();
    },
    losePrimary: () => primary.crash(),
    async promote() {
      const db = openDb(connectionTo(standby), { connections: 1 });
      try {
        await db`select pg_promote()`;
        await waitFor(30_000, "the standby accepts writes", async () => {
          const [row] = await db`select pg_is_in_recovery() as "inRecovery"`;
          return row?.inRecovery === false;
        });
      } finally {
        await db.end({ timeout: 5 });
      }
      current = standby;
    },
    async stop() {
      await Promise.all([primary.stop(), standby.stop()]);
    },
  };
}

/** The binaries lack pg_basebackup. Copying the files is safe because the cluster has never been started. */
function copyCluster({ cluster, identity }: ClusterPaths, dataDir: string): ClusterPaths {
  const copiedCluster = join(dataDir, "postgres");
  cpSync(cluster, copiedCluster, { recursive: true });
  giveTo(identity, copiedCluster);
  chmodSync(copiedCluster, 0o700);
  return choosePaths({ dataDir, log });
}

function configureStandby(
  { cluster, identity }: ClusterPaths,
  { host, password }: { host: string; password: string },
): void {
  const connection = { host, port, user: superuser, password, application_name: STANDBY };
  const settings = Object.entries(connection).map(([name, value]) => `${name}=${value}`);
  const files = {
    "postgresql.auto.conf": `primary_conninfo = '${settings.join(" ")}'\n`,
    "standby.signal": "",
  };
  for (const [name, text] of Object.entries(files)) {
    const file = join(cluster, name);
    writeFileSync(file, text, { mode: 0o600 });
    giveTo(identity, file);
  }
}

interface Node {
  socketFolder: string;
  start(): Promise<void>;
  crash(): Promise<void>;
  stop(): Promise<void>;
}

function openNode(paths: ClusterPaths, { postgres }: Binaries, overrides: Record<string, string>): Node {
  const { cluster, identity, logPath } = paths;
  const socketFolder = prepareSocketFolder(paths);
  const settings = { ...serverSettings({ cluster, socketFolder }), ...overrides };
  let running: Postmaster | undefined;
  return {
    socketFolder,
    async start() {
      await clearLeftovers({ cluster, socketFolder, log });
      const neverAborts = new AbortController().signal;
      running = await startPostmaster({ postgres, cluster, settings, logPath, identity }, neverAborts);
    },
    async crash() {
      if (running?.pid) process.kill(running.pid, "SIGQUIT");
      await running?.exited;
      running = undefined;
    },
    async stop() {
      await running?.end();
      running = undefined;
    },
  };
}
