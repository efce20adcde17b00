import { realpathSync } from "node:fs";
import { join } from "node:path";
import type { PostgresConnection } from "@outrider/server/store/db";
import { startEmbedded } from "@outrider/server/store/embedded";
import { clusterName, isPostmasterOf } from "@outrider/server/store/embedded/leftovers";
import { findProcesses, sendSignal } from "@outrider/server/store/embedded/processes";
import { socketPath } from "@outrider/server/store/embedded/socket";
import { pino } from "pino";

export interface Database {
  connection: PostgresConnection;
  /** Its socket, to which links lead. */
  socket: string;
  /** The postmaster alone, as the kernel does it when memory runs out; the supervisor starts another. */
  kill(): void;
  /** All of its processes, so that nothing is answered. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void;
  stop(): Promise<void>;
}

/** A PostgreSQL of the round's own. */
export async function startDatabase(dataDir: string): Promise<Database> {
  const embedded = await startEmbedded({ dataDir, log: pino({ level: "silent" }) });
  const cluster = realpathSync(join(dataDir, "postgres"));
  const title = `postgres: ${clusterName(cluster)}: `;
  const isPostmaster = (command: string) => isPostmasterOf(cluster, command);
  const send = (signal: NodeJS.Signals, isMeant: (command: string) => boolean) => {
    for (const { pid } of findProcesses(isMeant)) sendSignal(pid, signal);
  };
  return {
    connection: embedded.connection,
    socket: socketPath(embedded.connection.host),
    kill: () => send("SIGKILL", isPostmaster),
    signal: (signal) => send(signal, (command) => command.startsWith(title) || isPostmaster(command)),
    stop: () => embedded.stop(),
  };
}
