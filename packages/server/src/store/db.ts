import { limits } from "@outrider/contract/limits";
import postgres from "postgres";

export type Db = postgres.Sql;
/** A pool, or one transaction of it: what every statement of the store can run on. */
export type Sql = postgres.Sql | postgres.TransactionSql;
export type Tx = postgres.TransactionSql;

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
}

export function openDb(target: string | PostgresConnection, { connections, applicationName }: DbOptions): Db {
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
    // A restarting database should cost callers a moment, not ten seconds of back-off.
    backoff: (attempt: number) => Math.min(0.05 * 2 ** attempt, 1),
    connection: {
      application_name: applicationName ?? "outrider",
      TimeZone: "UTC",
      // Nobody waits longer for another writer than a caller may wait for the first use of an idempotency key.
      lock_timeout: limits.idempotency.waitSeconds * 1_000,
      "pg_trgm.strict_word_similarity_threshold": TITLE_SIMILARITY,
    },
  };
  const socket = typeof target === "string" ? socketOf(target) : target;
  return socket ? postgres({ ...options, ...socket }) : postgres(target as string, options);
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

export async function requireSupportedVersion(sql: Sql) {
  const [row] = await sql`select current_setting('server_version_num')::int as version`;
  const major = Math.floor((row?.version as number) / 10_000);
  if (major < MINIMUM_VERSION) {
    throw new Error(`PostgreSQL ${major} is too old: Outrider needs ${MINIMUM_VERSION} or later.`);
  }
}

/** True where a writer waited too long for another one. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.code === "55P03";
}

/** True for errors that mean "the database cannot be reached now" rather than "the statement is wrong". */
export function isUnreachable(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return (
    typeof code === "string" &&
    /^(57P0\d|08\w{3}|53300|CONNECTION_\w+|CONNECT_TIMEOUT|ECONN\w+|ENOENT|EPIPE)$/.test(code)
  );
}

export async function readClock(sql: Sql): Promise<string> {
  const [row] = await sql<{ now: string }[]>`select outrider_now() as now`;
  return row?.now as string;
}
