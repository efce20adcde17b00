import type { Logger } from "pino";
import type { Db } from "./db.ts";
import type { Lines } from "./lines.ts";

const EVERY_MS = 1_000;
/** So many looks in a row that find nothing new. Looks, not time: a process that was held up has not heard for itself. */
const SILENT_LOOKS = 10;

export interface Lifeline {
  stop(): Promise<void>;
}

export interface LifelineOptions {
  /** A pool of one connection, for this alone: it waits for no lock and in no queue. */
  db: Db;
  /** All connections to the database, this one among them. */
  lines: Lines;
  /** Told each time that they are dropped. */
  dropped?: () => void;
  log: Logger;
  everyMs?: number;
}

/**
 * Notices a database that goes dark: its host has lost power, or the network drops what it carries, and nobody is told. A
 * question that any living database answers at once is always under way. When nothing comes for a while, on this or on any
 * other connection, all are dropped: who waits is told, and whoever asks next connects anew. A statement that takes
 * long is not cut off while the database lives, for then the question is answered.
 */
export function keepLifeline(options: LifelineOptions): Lifeline {
  const { db, lines, dropped = () => {}, log, everyMs = EVERY_MS } = options;
  let received = lines.received;
  let silentLooks = 0;
  let isAsking = false;
  let isDark = false;

  function ask() {
    if (isAsking) return;
    isAsking = true;
    const over = () => {
      isAsking = false;
    };
    db`select 1`.then(over, over);
  }

  function look() {
    const before = received;
    received = lines.received;
    silentLooks = received === before ? silentLooks + 1 : 0;
    if (silentLooks === 0) isDark = false;
    if (silentLooks < SILENT_LOOKS) return;
    silentLooks = 0;
    const connections = lines.cut();
    dropped();
    received = lines.received;
    if (!isDark) log.warn({ connections }, "nothing comes from the database: its connections are dropped");
    isDark = true;
  }

  ask();
  const ticker = setInterval(() => {
    ask();
    // After what has come meanwhile is read.
    setImmediate(look);
  }, everyMs);
  return {
    async stop() {
      clearInterval(ticker);
    },
  };
}
