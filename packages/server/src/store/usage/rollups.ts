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
  /** Null without histograms. */
  durations: number[] | null;
  waits: number[] | null;
}

/** The subscripts of a histogram. One sum for each is several times faster than a row for each. */
const bins = Array.from({ length: 48 }, (_, index) => index + 1);

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
  const histogram = (column: string) =>
    withHistograms
      ? sql.unsafe(`array[${bins.map((bin) => `coalesce(sum(r.${column}[${bin}]), 0)::float8`).join(", ")}]`)
      : sql`null`;
  return sql<RollupSum[]>`
    select ${startsAt} as starts_at, ${key} as key,
      sum(r.succeeded)::float8 as succeeded, sum(r.failed)::float8 as failed, sum(r.cancelled)::float8 as cancelled,
      sum(r.unfinished)::float8 as unfinished, sum(r.cost_usd) as cost_usd, sum(r.input_tokens)::float8 as input_tokens,
      sum(r.cached_input_tokens)::float8 as cached_input_tokens, sum(r.output_tokens)::float8 as output_tokens,
      sum(r.run_seconds) as run_seconds, ${histogram("durations")} as durations, ${histogram("waits")} as waits
    from usage_rollups r
    where r.environment_id = any(${environmentIds}::uuid[]) and r.dimension = ${dimension}
      and r.granularity = ${granularity} and r.starts_at >= ${from} and r.starts_at < ${to}
      ${onlyKeys ? sql`and r.key = any(${onlyKeys}::text[])` : sql``}
    group by 1, 2 order by 1, 2`;
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
