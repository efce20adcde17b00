import type { Sql } from "./db.ts";

export interface Diagnosis {
  version: string;
  /** A standby rejects writes. */
  is_standby: boolean;
  connections: number;
  /** The number of connections available to ordinary roles, across all databases. */
  connections_max: number;
  standbys: number;
  standby_lag_seconds: number;
  clock_seconds: number;
  database_bytes: number;
}

/** Returns information about the database server for operators. It does not depend on the schema. */
export async function diagnose(sql: Sql): Promise<Diagnosis> {
  const [row] = await sql<Diagnosis[]>`
    select current_setting('server_version') as version, pg_is_in_recovery() as is_standby,
      (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as connections,
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as connections_max,
      (select count(*)::int from pg_stat_replication) as standbys,
      (select coalesce(max(extract(epoch from replay_lag)), 0)::float8 from pg_stat_replication) as standby_lag_seconds,
      extract(epoch from clock_timestamp())::float8 as clock_seconds,
      pg_database_size(current_database())::float8 as database_bytes`;
  return row as Diagnosis;
}
