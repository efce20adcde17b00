import { limits } from "@outrider/contract/limits";
import postgres from "postgres";
import type { TrackedSockets } from "./tracked-sockets.ts";
import { guardTransactions } from "./transaction.ts";
import { withoutPipelining } from "./without-pipelining.ts";

export type Db = postgres.Sql;
/** A pool or a transaction. Most store functions accept either. */
export type Sql = postgres.Sql | postgres.TransactionSql;
export type Tx = postgres.TransactionSql;

/** The lock timeout equals the time that a request may wait for another request with the same idempotency key. */
const LOCK_MS = limits.idempotency.waitSeconds * 1_000;

/** The minimum similarity between a search word and a word in the title; see runs/search.ts. */
const TITLE_SIMILARITY = 0.3;

export interface PostgresConnection {
  /** The folder that contains the Unix socket. */
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
}

export interface DbOptions {
  connections: number;
  applicationName?: string;
  /** PostgreSQL settings for every connection. */
  settings?: Record<string, string>;
  /** Tracks the connections, if they use the network. */
  sockets?: TrackedSockets;
  /**
   * The connections lead to a pooler in transaction mode, such as PgBouncer, which gives each transaction any of its
   * connections. They therefore prepare no statements, and their settings come from the role; see pooler.ts.
   */
  isPooled?: boolean;
}

/** Settings that the server's statements rely on. */
const sessionSettings = {
  lock_timeout: LOCK_MS,
  // A server that is suspended or disconnected during a transaction must not keep its locks, because all claims
  // need the same lock and TCP times out only after hours. The value is longer than the lock timeout, so that a
  // server that is merely slow is not interrupted.
  idle_in_transaction_session_timeout: 2 * LOCK_MS,
  "pg_trgm.strict_word_similarity_threshold": TITLE_SIMILARITY,
};

export const sessionSettingNames = Object.keys(sessionSettings);

/** The idle time after which TCP keepalive probes are sent. */
const KEEP_ALIVE_SECONDS = 5;

export function openDb(
  target: string | PostgresConnection,
  { connections, applicationName, settings, sockets, isPooled = false }: DbOptions,
): Db {
  const options = {
    max: connections,
    onnotice: () => {},
    // Times are parsed into ISO strings, which is the API's format.
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
    // Keeps the backoff short, so that a database restart delays requests only briefly.
    backoff: (attempt: number) => Math.min(0.05 * 2 ** attempt, 1),
    prepare: !isPooled,
    connection: {
      application_name: applicationName ?? "outrider",
      TimeZone: "UTC",
      // PgBouncer rejects connections that specify other settings than the two above.
      ...(isPooled
        ? {}
        : {
            ...sessionSettings,
            // Without keepalives, the connections of a server that vanished would count toward max_connections for hours.
            tcp_keepalives_idle: 10,
            tcp_keepalives_interval: 5,
            tcp_keepalives_count: 4,
            ...settings,
          }),
    },
  };
  const socket = typeof target === "string" ? socketOf(target) : target;
  const db = socket
    ? postgres({ ...options, ...socket })
    : postgres(target as string, { ...options, ...(sockets ? { socket: sockets.connect } : {}) });
  return guardTransactions(isPooled ? withoutPipelining(db) : db);
}

/** Returns whether the database is accessed over the network, where a lost connection may go unnoticed. */
export function isRemote(target: string | PostgresConnection): boolean {
  return typeof target === "string" && !socketOf(target);
}

/** Parses a URL with a Unix socket, `postgres://user:password@/database?host=/folder`, which the driver does not support. */
function socketOf(url: string): PostgresConnection | undefined {
  const readable = url.replace(/(:\/\/|@)(?=\/)/, "$1localhost");
  if (!URL.canParse(readable))
    throw new Error(
      "DATABASE_URL is not a valid URL. Escape special characters in the password, for example %40 for @.",
    );
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
 * Throws if the PostgreSQL version is too old. Call this first on every pool: it lets the first connection fetch the
 * array types and then disables fetching. Otherwise the driver (3.4.9) would fetch them on every new connection, and
 * would crash the process if the connection were lost in the meantime.
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
 * Returns a condition that is always true and makes PostgreSQL plan the statement for its actual values. After a few
 * executions, PostgreSQL may switch to a generic plan, which treats a filter that matches half of all runs like one
 * that matches ten. When the values are known, the planner removes the condition; in a generic plan, the condition
 * appears extremely expensive.
 */
export function forceCustomPlan(sql: Sql) {
  return sql`(${true}::boolean or (select count(*) from generate_series(1, 1000000) a, generate_series(1, 1000000) b) = 0)`;
}

/** Returns whether a statement failed because it waited too long for a lock. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.code === "55P03";
}

/** Returns whether the error means that a disk is full, either on this machine or on the database's. */
export function isOutOfSpace(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === "53100" || code === "ENOSPC" || code === "EDQUOT";
}

/** Error codes from PostgreSQL, from the driver, and from the operating system and DNS. */
const unreachable = [
  /^(57P0\d|57014|25006|25P03|08\w{3}|53300)$/,
  /^(CONNECTION_\w+|CONNECT_TIMEOUT)$/,
  /^(ECONN\w+|ENOENT|EPIPE|ETIMEDOUT|E(HOST|NET)(UNREACH|DOWN)|ENOTFOUND|EAI_AGAIN)$/,
];

/**
 * Returns whether the error means that the database is unreachable, rather than that a statement is invalid. Error
 * 25006 (read-only) is returned by a standby that is about to be promoted, and 57014 (canceled) by a database that is
 * stopped during a statement.
 */
export function isUnreachable(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && unreachable.some((codes) => codes.test(code));
}

export async function readClock(sql: Sql): Promise<string> {
  const [row] = await sql<{ now: string }[]>`select outrider_now() as now`;
  return row?.now as string;
}
