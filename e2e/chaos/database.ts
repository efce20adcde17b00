import { realpathSync } from "node:fs";
import { join } from "node:path";
import { startEmbedded } from "@outrider/server/postgres/embedded-postgres";
import { clusterName, isPostmasterOf } from "@outrider/server/postgres/leftovers";
import { findProcesses, sendSignal } from "@outrider/server/postgres/os-processes";
import { socketPath } from "@outrider/server/postgres/socket";
import type { PostgresConnection } from "@outrider/server/store/connection/db";
import { pino } from "pino";

export interface Database {
  connection: PostgresConnection;
  /** The unix socket that the proxies forward to. */
  socket: string;
  /** Kills only the postmaster, as the OOM killer would. Its supervisor starts a new one. */
  kill(): void;
  /** Signals all PostgreSQL processes, so that a paused database answers nothing. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void;
  stop(): Promise<void>;
}

/** Starts a PostgreSQL that only this round uses. */
export async function startDatabase(dataDir: string): Promise<Database> {
  const embedded = await startEmbedded({ dataDir, log: pino({ level: "silent" }) });
  const cluster = realpathSync(join(dataDir, "postgres"));
  const title = `postgres: ${clusterName(cluster)}: `;
  const isPostmaster = (command: string) => isPostmasterOf(cluster, command);
  const send = (signal: NodeJS.Signals, matches: (command: string) => boolean) => {
    for (const { pid } of findProcesses(matches)) sendSignal(pid, signal);
  };
  return {
    connection: embedded.connection,
    socket: socketPath(embedded.connection.host),
    kill: () => send("SIGKILL", isPostmaster),
    signal: (signal) => send(signal, (command) => command.startsWith(title) || isPostmaster(command)),
    stop: () => embedded.stop(),
  };
}
