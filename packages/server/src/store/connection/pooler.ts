import postgres from "postgres";
import { type Db, sessionSettingNames } from "./db.ts";

/*
 * Connections through a pooler in transaction mode, such as PgBouncer. Each transaction can use another connection of
 * the pooler to PostgreSQL, so nothing may depend on a session: statements are not prepared, settings and advisory
 * locks last for a transaction, and what needs a session (LISTEN, migrations, backups) uses the direct address.
 *
 * DATABASE_DIRECT_URL declares a pooler. Without it, notifications would be lost and statements would fail later, in
 * ways that do not point to the pooler. The server therefore refuses to start if it detects an undeclared pooler.
 */

/** A mistake in the settings of the database, and how to correct it. */
export class DatabaseSettingsError extends Error {
  readonly problem: string;
  readonly remedy: string;

  constructor(problem: string, remedy: string) {
    super(`${problem}. ${remedy.charAt(0).toUpperCase()}${remedy.slice(1)}.`);
    this.problem = problem;
    this.remedy = remedy;
  }
}

const undeclaredPooler = () =>
  new DatabaseSettingsError(
    "DATABASE_URL leads to a connection pooler such as PgBouncer",
    "also set DATABASE_DIRECT_URL to the address of PostgreSQL itself (docs/operations.md, PgBouncer)",
  );

/**
 * Returns whether connections lead to a pooler. When a connection starts, PostgreSQL sends the ID of the process that
 * serves it. A pooler sends a number of its own instead, with which it recognizes cancellations.
 */
export async function leadsToPooler(db: Db): Promise<boolean> {
  const result = await db<{ pid: number }[]>`select pg_backend_pid() as pid`;
  return result.state.pid !== result[0]?.pid;
}

/** Fails if DATABASE_URL leads to a pooler although DATABASE_DIRECT_URL is not set. `connect` is the first statement. */
export async function requireNoPooler(db: Db, connect: (db: Db) => Promise<void>): Promise<void> {
  try {
    await connect(db);
  } catch (error) {
    if (rejectsSettings(error)) throw undeclaredPooler();
    throw error;
  }
  if (await leadsToPooler(db)) throw undeclaredPooler();
}

/** PgBouncer rejects connections with settings that it does not track, unless it is configured to ignore them. */
function rejectsSettings(error: unknown): boolean {
  return (
    error instanceof postgres.PostgresError &&
    error.code === "08P01" &&
    error.message.includes("startup parameter")
  );
}

export interface Connections {
  /** Connections through the pooler. */
  pooled: Db;
  /** Connections to DATABASE_DIRECT_URL. */
  direct: Db;
}

/**
 * Fails unless the direct address leads to PostgreSQL itself, both addresses lead to the same database, and
 * transactions through the pooler have the settings that a direct connection sets itself.
 */
export async function requireUsablePooler({ pooled, direct }: Connections): Promise<void> {
  if (await leadsToPooler(direct)) {
    throw new DatabaseSettingsError(
      "DATABASE_DIRECT_URL leads to a connection pooler",
      "set it to the address of PostgreSQL itself",
    );
  }
  const [there, here] = await Promise.all([describeSession(pooled), describeSession(direct)]);
  if (there.database !== here.database || there.started_at !== here.started_at) {
    throw new DatabaseSettingsError(
      "DATABASE_URL and DATABASE_DIRECT_URL lead to different databases",
      "set both to addresses of the same database",
    );
  }
  const missing = sessionSettingNames.filter((name) => there.settings[name] !== here.settings[name]);
  if (missing.length === 0) return;
  const quote = (name: string) => `"${name.replaceAll('"', '""')}"`;
  const statements = missing.map(
    (name) =>
      `alter role ${quote(there.role)} in database ${quote(there.database)} set ${name} = '${here.settings[name]}'`,
  );
  throw new DatabaseSettingsError(
    "Connections through DATABASE_URL lack settings of their role",
    `execute this in the database as a superuser, then reconnect the pooler (RECONNECT in the console of PgBouncer): ${statements.join("; ")}`,
  );
}

interface Session {
  database: string;
  role: string;
  started_at: string;
  settings: Record<string, string | null>;
}

async function describeSession(db: Db): Promise<Session> {
  const [row] = await db<Session[]>`
    select current_database() as database, current_user as role, pg_postmaster_start_time()::text as started_at,
      (select json_object_agg(name, current_setting(name, true)) from unnest(${sessionSettingNames}::text[]) name)
        as settings`;
  return row as Session;
}
