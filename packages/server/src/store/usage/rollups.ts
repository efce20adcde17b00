import type { Sql } from "../connection/db.ts";

/** The environment ID of rollups for the whole installation. */
export const INSTALLATION = "00000000-0000-0000-0000-000000000000";

export type RollupDimension = "total" | "model" | "environment" | "user" | "agent" | "source" | "failure";

/** The rollups that a query reads. */
export interface RollupSelection {
  dimension: RollupDimension;
  /** The environments whose runs count, or INSTALLATION. */
  environmentIds: string[];
  /** Reads only rollups with these keys. */
  onlyKeys?: string[] | undefined;
  granularity: "hour" | "day";
  from: string;
  to: string;
}

export interface RollupGrouping {
  /** Returns a row for each interval. */
  interval?: "hour" | "day" | "week" | "month";
  /** Returns a row for each of these keys, and one with the key null for all others. */
  keys?: string[] | "all";
  withHistograms?: boolean;
}

/** Sums of rollups. */
export interface RollupSum {
  starts_at: string | null;
  key: string | null;
  succeeded: number;
  failed: number;
  cancelled: number;
  unfinished: number;
  cost_usd: number;
  input_tokens: number;
  cached_input_tokens: number;
  output_tokens: number;
  run_seconds: number;
  durations: number[] | null;
  waits: number[] | null;
}

/** Sums rollups by interval and key. The primary key of the table covers the selection. */
export async function sumRollups(
  sql: Sql,
  { dimension, environmentIds, onlyKeys, granularity, from, to }: RollupSelection,
  { interval, keys, withHistograms = false }: RollupGrouping,
): Promise<RollupSum[]> {
  const startsAt = interval ? sql`date_trunc(${interval}, r.starts_at, 'UTC')` : sql`null::timestamptz`;
  const key =
    keys === undefined
      ? sql`null::text`
      : keys === "all"
        ? sql`r.key`
        : sql`case when r.key = any(${keys}::text[]) then r.key end`;
  return sql<RollupSum[]>`
    with rollup as materialized (
      select ${startsAt} as at, ${key} as k, r.*
      from usage_rollups r
      where r.environment_id = any(${environmentIds}::uuid[]) and r.dimension = ${dimension}
        and r.granularity = ${granularity} and r.starts_at >= ${from} and r.starts_at < ${to}
        ${onlyKeys ? sql`and r.key = any(${onlyKeys}::text[])` : sql``}
    ),
    bin as (
      select r.at, r.k, b.i, coalesce(sum(b.duration), 0)::float8 as durations, coalesce(sum(b.wait), 0)::float8 as waits
      from rollup r cross join lateral unnest(r.durations, r.waits) with ordinality b(duration, wait, i)
      where ${withHistograms} group by 1, 2, 3
    ),
    histogram as (
      select at, k, array_agg(durations order by i) as durations, array_agg(waits order by i) as waits from bin group by 1, 2
    ),
    total as (
      select at, k, sum(succeeded)::float8 as succeeded, sum(failed)::float8 as failed, sum(cancelled)::float8 as cancelled,
        sum(unfinished)::float8 as unfinished, sum(cost_usd) as cost_usd, sum(input_tokens)::float8 as input_tokens,
        sum(cached_input_tokens)::float8 as cached_input_tokens, sum(output_tokens)::float8 as output_tokens,
        sum(run_seconds) as run_seconds
      from rollup group by 1, 2
    )
    select t.at as starts_at, t.k as key, t.succeeded, t.failed, t.cancelled, t.unfinished, t.cost_usd, t.input_tokens,
      t.cached_input_tokens, t.output_tokens, t.run_seconds, h.durations, h.waits
    from total t left join histogram h on h.at is not distinct from t.at and h.k is not distinct from t.k
    order by t.at, t.k`;
}

export interface UsageStatus {
  now: string;
  as_of: string;
  /** False while runs of earlier versions are still to be counted. */
  is_complete: boolean;
}

export async function findUsageStatus(sql: Sql): Promise<UsageStatus> {
  const [row] = await sql<UsageStatus[]>`
    select outrider_now() as now, not exists (select 1 from runs where counted_state is null) as is_complete,
      case when exists (select 1 from usage_changes) then (select done_at from usage_tasks where name = 'fold')
        else outrider_now() end as as_of`;
  return row as UsageStatus;
}

/** Returns the names of environments, users or cloud agents, including deleted ones. */
export async function findNames(
  sql: Sql,
  table: "environments" | "users" | "identities",
  ids: string[],
): Promise<Map<string, string>> {
  const columns = {
    environments: sql`environment_id::text as id, name`,
    users: sql`uid::text as id, display_name as name`,
    identities: sql`uid::text as id, name`,
  }[table];
  const rows = await sql<{ id: string; name: string }[]>`
    select n.id, n.name from (select ${columns} from ${sql(table)}) n where n.id = any(${ids}::text[])`;
  return new Map(rows.map(({ id, name }) => [id, name]));
}

interface EnvironmentRepositories {
  environment_id: string;
  repos: { url?: string; owner?: string; repo?: string }[];
}

/** Returns the repositories of the given environments, including deleted environments. */
export async function listEnvironmentRepositories(
  sql: Sql,
  environmentIds: string[],
): Promise<EnvironmentRepositories[]> {
  return sql<EnvironmentRepositories[]>`
    select environment_id, coalesce(config -> 'repos', '[]') as repos from environments
    where environment_id = any(${environmentIds}::uuid[])`;
}
