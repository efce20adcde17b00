import type { Sql } from "./connection/db.ts";

/**
 * Installation-wide stats for metrics. Each is cheap to compute, from a small table or an index with few entries. The stats of open
 * runs are not; see dispatch/demand.ts.
 */
export interface Stats {
  followups_waiting: number;
  builds_queued: number;
  builds_building: number;
  oldest_build_seconds: number;
  workers_alive: number;
  workers_draining: number;
  slots: number;
  connections: number;
  /** Connections that are waiting for a lock. */
  connections_blocked: number;
  connections_max: number;
  clock_seconds: number;
}

export async function findStats(sql: Sql, aliveMs: number): Promise<Stats> {
  const age = (oldest: ReturnType<typeof sql>) =>
    sql`coalesce(extract(epoch from outrider_now() - (${oldest})), 0)::float8`;
  const [row] = await sql<Stats[]>`
    select
      builds.*, workers.*, connections.*,
      (select count(*)::int from followups where delivery = 'queued') as followups_waiting,
      current_setting('max_connections')::int as connections_max,
      extract(epoch from clock_timestamp())::float8 as clock_seconds
    from (
      select count(*) filter (where state = 'QUEUED')::int as builds_queued,
        count(*) filter (where state = 'BUILDING')::int as builds_building,
        ${age(sql`select min(created_at) from builds where state in ('QUEUED', 'BUILDING')`)} as oldest_build_seconds
      from builds where state in ('QUEUED', 'BUILDING')
    ) builds, (
      select count(*) filter (where not draining)::int as workers_alive,
        count(*) filter (where draining)::int as workers_draining,
        coalesce(sum(slots) filter (where not draining), 0)::int as slots
      from workers where last_seen_at > outrider_now() - ${aliveMs} * interval '1 ms'
    ) workers, (
      select count(*)::int as connections,
        count(*) filter (where wait_event_type = 'Lock')::int as connections_blocked
      from pg_stat_activity where datname = current_database()
    ) connections`;
  return row as Stats;
}

export interface Sizes {
  blobs: number;
  blob_bytes: number;
  database_bytes: number;
}

/** Returns sizes that take a while to compute in large installations. */
export async function findSizes(sql: Sql): Promise<Sizes> {
  const [row] = await sql<Sizes[]>`
    select count(*)::float8 as blobs, coalesce(sum(size_bytes), 0)::float8 as blob_bytes,
      pg_database_size(current_database())::float8 as database_bytes
    from blobs`;
  return row as Sizes;
}
