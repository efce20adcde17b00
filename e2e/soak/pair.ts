import { chmodSync, cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openDb, type PostgresConnection } from "@outrider/server/store/db";
import { type Binaries, prepareBinaries } from "@outrider/server/store/embedded/binaries";
import { ensureCluster } from "@outrider/server/store/embedded/cluster";
import { ensureDatabase } from "@outrider/server/store/embedded/database";
import { giveTo } from "@outrider/server/store/embedded/identity";
import { superuser } from "@outrider/server/store/embedded/initdb";
import { clearLeftovers } from "@outrider/server/store/embedded/leftovers";
import { choosePlace, type Place, prepareDataDir, sharedRoot } from "@outrider/server/store/embedded/place";
import { type Postmaster, startPostmaster } from "@outrider/server/store/embedded/postmaster";
import { serverSettings } from "@outrider/server/store/embedded/settings";
import { port, prepareSocketFolder, socketPath } from "@outrider/server/store/embedded/socket";
import { pino } from "pino";
import { within } from "../torture/within.ts";

const STANDBY = "standby";
const log = pino({ level: "silent" });

/** A PostgreSQL and its streaming standby. A commit is acknowledged when it is on both disks. */
export interface Pair {
  /** Of the one that takes writes. */
  connection(): PostgresConnection;
  socket(): string;
  standbySocket(): string;
  /** Ends the primary without ceremony, as a crash does, and starts it again on the same files. */
  restart(): Promise<void>;
  /** Ends the primary without ceremony and for good. */
  losePrimary(): Promise<void>;
  /** Makes the standby the one that takes writes. */
  promote(): Promise<void>;
  stop(): Promise<void>;
}

export async function startPair(folder: string): Promise<Pair> {
  const place = choosePlace({ dataDir: prepareDataDir(join(folder, "primary")), log });
  const binaries = await prepareBinaries({ identity: place.identity, copyTo: sharedRoot, log });
  const password = await ensureCluster({ place, binaries, log });
  const copy = copyCluster(place, prepareDataDir(join(folder, STANDBY)));
  const primary = openNode(place, binaries, {
    synchronous_standby_names: STANDBY,
    // What the standby misses while it is away is still there when it comes back.
    wal_keep_size: "1GB",
  });
  follow(copy, { host: primary.socketFolder, password });
  const standby = openNode(copy, binaries, { wal_retrieve_retry_interval: "500ms" });
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
        await within(30_000, "the standby takes writes", async () => {
          const [row] = await db`select pg_is_in_recovery() as waits`;
          return row?.waits === false;
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

/** There is no pg_basebackup among the binaries, but a cluster that was never started may simply be copied. */
function copyCluster({ cluster, identity }: Place, dataDir: string): Place {
  const entry = join(dataDir, "postgres");
  cpSync(cluster, entry, { recursive: true });
  giveTo(identity, entry);
  chmodSync(entry, 0o700);
  return choosePlace({ dataDir, log });
}

function follow({ cluster, identity }: Place, { host, password }: { host: string; password: string }): void {
  const way = { host, port, user: superuser, password, application_name: STANDBY };
  const words = Object.entries(way).map(([name, value]) => `${name}=${value}`);
  const files = {
    "postgresql.auto.conf": `primary_conninfo = '${words.join(" ")}'\n`,
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

function openNode(place: Place, { postgres }: Binaries, own: Record<string, string>): Node {
  const { cluster, identity, logPath } = place;
  const socketFolder = prepareSocketFolder(place);
  const settings = { ...serverSettings({ cluster, socketFolder }), ...own };
  let running: Postmaster | undefined;
  return {
    socketFolder,
    async start() {
      await clearLeftovers({ cluster, socketFolder, log });
      const never = new AbortController().signal;
      running = await startPostmaster({ postgres, cluster, settings, logPath, identity }, never);
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
