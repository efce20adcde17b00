import { limits } from "@outrider/contract/limits";
import postgres from "postgres";
import type { Lines } from "./lines.ts";
import { guardTransactions } from "./transaction.ts";

export type Db = postgres.Sql;
/** A pool, or one transaction of it: what every statement of the store can run on. */
export type Sql = postgres.Sql | postgres.TransactionSql;
export type Tx = postgres.TransactionSql;

/** Nobody waits longer for another writer than a caller may wait for the first use of an idempotency key. */
const LOCK_MS = limits.idempotency.waitSeconds * 1_000;

/** Where title words and searched words count as alike; see runs.search. */
const TITLE_SIMILARITY = 0.3;

export interface PostgresConnection {
  /** The folder of the unix socket. */
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
}

export interface DbOptions {
  connections: number;
  applicationName?: string;
  /** Of PostgreSQL, for every connection. */
  settings?: Record<string, string>;
  /** Where its connections are counted, if they go over the network. */
  lines?: Lines;
}

/** A connection on which nothing passes is asked for after so long; ten questions, a second apart, may stay unanswered. */
const KEEP_ALIVE_SECONDS = 5;

export function openDb(
  target: string | PostgresConnection,
  { connections, applicationName, settings, lines }: DbOptions,
): Db {
  const options = {
    max: connections,
    onnotice: () => {},
    // Times leave the driver as they stand on the wire.
    types: {
      date: {
        to: 1184,
        from: [1082, 1114, 1184],
        serialize: (value: string | Date) => (value instanceof Date ? value : new Date(value)).toISOString(),
        parse: (value: string) => new Date(value).toISOString(),
      },
    },
    connect_timeout: 5,
    keep_alive: KEEP_ALIVE_SECONDS,
    // A restarting database should cost callers a moment, not ten seconds of back-off.
    backoff: (attempt: number) => Math.min(0.05 * 2 ** attempt, 1),
    connection: {
      application_name: applicationName ?? "outrider",
      TimeZone: "UTC",
      lock_timeout: LOCK_MS,
      // A server that is stopped or cut off in the middle of a transaction must not keep its locks: all claims wait for
      // the same one. Without this it would keep them until TCP gives up, which takes hours. Longer than others wait
      // for a lock, so that one who is only slow is not cut off by their haste.
      idle_in_transaction_session_timeout: 2 * LOCK_MS,
      // What such a server leaves would otherwise count against max_connections for as long.
      tcp_keepalives_idle: 10,
      tcp_keepalives_interval: 5,
      tcp_keepalives_count: 4,
      "pg_trgm.strict_word_similarity_threshold": TITLE_SIMILARITY,
      ...settings,
    },
  };
  const socket = typeof target === "string" ? socketOf(target) : target;
  return guardTransactions(
    socket
      ? postgres({ ...options, ...socket })
      : postgres(target as string, { ...options, ...(lines ? { socket: lines.dial } : {}) } as never),
  );
}

/** Whether packets to it can be lost, so that nobody tells us when it is gone. */
export function isRemote(target: string | PostgresConnection): boolean {
  return typeof target === "string" && !socketOf(target);
}

/** The usual way to name a unix socket, `postgres://user:password@/database?host=/folder`, which the driver cannot read. */
function socketOf(url: string): PostgresConnection | undefined {
  const readable = url.replace(/(:\/\/|@)(?=\/)/, "$1localhost");
  if (!URL.canParse(readable))
    throw new Error("DATABASE_URL cannot be read: escape what is special in its password, as in %40 for @.");
  const { searchParams, username, password, pathname } = new URL(readable);
  const host = searchParams.get("host");
  if (!host?.startsWith("/")) return undefined;
  return {
    host,
    port: Number(searchParams.get("port") ?? 5432),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
  };
}

const MINIMUM_VERSION = 15;

/**
 * The first question to a database. Every pool has to ask it: its first connection learns the types of arrays for all.
 * The driver (3.4.9) would ask for them on every new one, and the loss of a connection while it asks ends the process.
 */
export async function requireSupportedVersion(db: Db) {
  const [row] = await db`select current_setting('server_version_num')::int as version`;
  Object.assign(db.options, { fetch_types: false });
  const major = Math.floor((row?.version as number) / 10_000);
  if (major < MINIMUM_VERSION) {
    throw new Error(`PostgreSQL ${major} is too old: Outrider needs ${MINIMUM_VERSION} or later.`);
  }
}

/**
 * A condition that holds, and keeps PostgreSQL from settling on one plan for all values of a statement. It does that after
 * a few executions, where the one plan seems no dearer than those before: a filter that finds half of all runs would then
 * be planned like one that finds ten. Once the value is known, nothing is left of this condition; while it is not, it
 * seems dearer than anything.
 */
export function plannedForItsValues(sql: Sql) {
  return sql`(${true}::boolean or (select count(*) from generate_series(1, 1000000) a, generate_series(1, 1000000) b) = 0)`;
}

/** True where a writer waited too long for another one. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.code === "55P03";
}

/** True where a disk is full, ours or the database's. */
export function isOutOfSpace(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === "53100" || code === "ENOSPC" || code === "EDQUOT";
}

/** In the database's words, the driver's, and those of the kernel and of the names of hosts. */
const unreachable = [
  /^(57P0\d|25006|25P03|08\w{3}|53300)$/,
  /^(CONNECTION_\w+|CONNECT_TIMEOUT)$/,
  /^(ECONN\w+|ENOENT|EPIPE|ETIMEDOUT|E(HOST|NET)(UNREACH|DOWN)|ENOTFOUND|EAI_AGAIN)$/,
];

/**
 * True for errors that mean "the database cannot be reached now" rather than "the statement is wrong". One that only
 * reads (25006) is a standby which is about to take over.
 */
export function isUnreachable(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && unreachable.some((codes) => codes.test(code));
}

export async function readClock(sql: Sql): Promise<string> {
  const [row] = await sql<{ now: string }[]>`select outrider_now() as now`;
  return row?.now as string;
}
