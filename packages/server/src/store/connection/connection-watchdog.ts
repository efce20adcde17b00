import type { Logger } from "pino";
import { startTicker } from "../../ticker.ts";
import type { Db } from "./db.ts";
import type { TrackedSockets } from "./tracked-sockets.ts";

const EVERY_MS = 1_000;
/**
 * Connections are dropped after this many consecutive checks without received data. It is a number of checks rather
 * than a duration, because a suspended process cannot receive anything and must not drop its connections when it
 * resumes.
 */
const MAX_SILENT_CHECKS = 10;
/** Behind a pooler, a ping can wait until another transaction releases one of the pooler's connections. */
const MAX_SILENT_CHECKS_POOLED = 30;

export interface ConnectionWatchdog {
  stop(): Promise<void>;
}

export interface WatchdogOptions {
  /** A dedicated pool with one connection, so that the ping waits neither for a lock nor for a free connection. */
  db: Db;
  /** All connections to the database, including this one. */
  sockets: TrackedSockets;
  /** The connections lead to a pooler. */
  isPooled?: boolean;
  /** Called whenever the connections are dropped. */
  onDropped?: () => void;
  log: Logger;
  everyMs?: number;
}

/**
 * Detects that the database has vanished without closing its connections, for example because its host lost power or
 * the network is dropping packets.
 *
 * Every second, the watchdog checks whether any connection has received data. If none has, it sends a ping, which a healthy
 * database answers immediately. If no connection has received any data for MAX_SILENT_CHECKS checks, the watchdog drops all
 * connections. Pending statements then fail, and later ones reconnect. As long as the database answers pings, long-running
 * statements are not interrupted.
 */
export function startConnectionWatchdog(options: WatchdogOptions): ConnectionWatchdog {
  const { db, sockets, isPooled = false, onDropped = () => {}, log, everyMs = EVERY_MS } = options;
  const maxSilentChecks = isPooled ? MAX_SILENT_CHECKS_POOLED : MAX_SILENT_CHECKS;
  let received = sockets.received;
  let silentChecks = 0;
  let isPinging = false;
  let isSilent = false;

  function ping() {
    if (isPinging) return;
    isPinging = true;
    const done = () => {
      isPinging = false;
    };
    db`select 1`.then(done, done);
  }

  function check() {
    const before = received;
    received = sockets.received;
    silentChecks = received === before ? silentChecks + 1 : 0;
    if (silentChecks === 0) isSilent = false;
    else ping();
    if (silentChecks < maxSilentChecks) return;
    silentChecks = 0;
    const connections = sockets.destroyAll();
    onDropped();
    received = sockets.received;
    if (!isSilent) log.warn({ connections }, "no data from the database, dropped its connections");
    isSilent = true;
  }

  return startTicker({
    everyMs,
    task() {
      // Checks only after pending data has been read.
      setImmediate(check);
    },
  });
}
