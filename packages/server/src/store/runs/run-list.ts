import type { ArtifactType } from "@outrider/contract/artifact";
import { DEFAULT_HARNESS } from "@outrider/contract/default-harness";
import { limits } from "@outrider/contract/limits";
import { type PullRequestState, pullRequestStates } from "@outrider/contract/pull-request";
import type { RunItem, RunSourceType, RunState } from "@outrider/contract/run";
import type { runSorts } from "@outrider/contract/run-state";
import { forceCustomPlan, type Sql } from "../connection/db.ts";
import { inTransaction } from "../connection/transaction.ts";
import { columns, creators, toRunItem } from "./runs.ts";
import { all, type Condition, type WordConditions, wordConditions } from "./search.ts";

export interface RunFilter {
  state?: RunState[];
  config_name?: string[];
  model_id?: string[];
  harness?: string[];
  creator_uid?: string[];
  source?: RunSourceType[];
  environment_id?: string[];
  skill_spec?: string[];
  artifact_type?: ArtifactType[];
  pull_request_state?: PullRequestState[];
  error_code?: string[];
  /** The environments with the repositories that a caller asks for. */
  repository_environments?: string[];
  created_after?: string;
  created_before?: string;
  updated_after?: string;
  metadata?: Record<string, string>;
  q?: string;
  /** Only this creator's runs are visible, regardless of the other filters. */
  visible_to?: string;
  /** Only runs in these environments are visible, regardless of the other filters. */
  visible_environments?: string[];
}

export interface RunSort {
  by: (typeof runSorts)[number];
  order: "asc" | "desc";
}

/** The column of each sort order and its type. Each has an index together with the run's ID. */
const sortColumns: Record<RunSort["by"], { name: string; type: "text" | "timestamptz" | "float8" }> = {
  created_at: { name: "created_at", type: "timestamptz" },
  updated_at: { name: "updated_at", type: "timestamptz" },
  title: { name: "title", type: "text" },
  cost: { name: "cost_usd", type: "float8" },
  duration: { name: "run_seconds", type: "float8" },
};

export interface RunPosition {
  value: string;
  run_id: string;
}

/**
 * If a search has up to this many results, they are sorted. If it has more, runs are scanned in order until the page is
 * full.
 */
const MAX_SORTED = 1_000;
const COUNT_TIMEOUT_MS = 500;
/** PostgreSQL's error code for a statement that exceeded its timeout. */
const QUERY_CANCELED = "57014";
/** A filter with up to this many values is split into one query per value. */
const MAX_SPLIT_VALUES = 8;
/**
 * A page ends once its configurations reach this size, because a single configuration can be as large as a request
 * body.
 */
const MAX_CONFIGURATION_BYTES = 4 * 1024 * 1024;

export interface RunPage {
  runs: RunItem[];
  hasMore: boolean;
  /** Where the page ends. Absent for an empty page. */
  last?: RunPosition;
}

/**
 * Returns one page of runs in keyset order, starting after `after`: up to `limit` runs, or fewer if they are large.
 *
 * It first selects the page's IDs, using an index that either provides the order or matches few rows, so that the time
 * does not depend on the size of the table. It then reads the remaining columns only for those runs. See
 * docs/decisions/scale.md for measurements.
 */
export async function listRuns(
  sql: Sql,
  { filter, sort, after, limit }: { filter: RunFilter; sort: RunSort; after?: RunPosition; limit: number },
): Promise<RunPage> {
  const { name: sortName, type: sortType } = sortColumns[sort.by];
  const column = sql(`r.${sortName}`);
  const direction = sort.order === "asc" ? sql`asc` : sql`desc`;
  const order = sql`order by ${column} ${direction}, r.run_id ${direction}`;
  const lists = listsOf(filter);
  const bounds = boundsOf(sql, filter);
  if (after) {
    const type = sql.unsafe(sortType);
    const beyond = sort.order === "asc" ? sql`>` : sql`<`;
    bounds.push(sql`(${column}, r.run_id) ${beyond} (${after.value}::${type}, ${after.run_id}::uuid)`);
  }
  const words = wordConditions(sql, filter);
  // One query plan suits every unfiltered page of the default size. With filters, the best plan depends on the values.
  const isDefaultPage = lists.length + bounds.length === 0 && !words && limit === limits.pageSize.default;
  // Reads one extra row to find out whether there is a next page.
  const size = isDefaultPage ? sql.unsafe(String(limit + 1)) : sql`${limit + 1}`;
  const choose = (conditions: Condition[]) =>
    sql`select r.run_id, ${column} from runs r where ${all(sql, conditions)} ${order} limit ${size}`;
  const select = (conditions: Condition[], filters: AnyOf[] = lists) =>
    choose([...conditions, ...filters.map((list) => anyOf(sql, list)), ...bounds]);

  /** An index provides the order for a single value but not for several, so each value gets its own query. */
  const inOrder = (conditions: Condition[]) => {
    const [split, ...others] =
      sort.by === "created_at" ? lists.toSorted((a, b) => a.values.length - b.values.length) : [];
    if (!split || split.values.length === 0 || split.values.length > MAX_SPLIT_VALUES)
      return sql`(${select(conditions)})`;
    return split.values
      .map((value) => sql`(${select([...conditions, anyOf(sql, { ...split, values: [value] })], others)})`)
      .reduce((left, right) => sql`${left} union all ${right}`);
  };

  const maxPrompt = limits.listedPromptCharacters;
  const rows = await sql`
    ${words ? matches(sql, words) : sql``}
    select * from (
      select ${columns(sql)}, left(r.prompt, ${maxPrompt}) as prompt, nullif(char_length(r.prompt) > ${maxPrompt}, false) as prompt_truncated,
        ${column} as position, count(*) over () - row_number() over in_order as behind,
        sum(octet_length(r.agent_config::text)) over in_order - octet_length(r.agent_config::text) as before
      from (
        select r.run_id from (${
          words
            ? sql`
              (${select([sql`(select is_small from found_size)`, sql`r.run_id in (select run_id from found)`])})
              union all
              ${inOrder([
                sql`not (select is_small from found_size)`,
                // Uses a scalar subquery for each run, so that the planner cannot choose a join based on its row
                // estimate.
                sql`(select ${words.fuzzy ?? words.exact} from run_search w where w.run_id = r.run_id)`,
              ])}`
            : inOrder([])
        }) r ${order} limit ${size}
      ) page join runs r using (run_id) join run_state h using (run_id) ${creators(sql)}
      ${isDefaultPage ? sql`` : sql`where ${forceCustomPlan(sql)}`}
      window in_order as (${order})
    ) listed where before < ${MAX_CONFIGURATION_BYTES} order by behind desc`;
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    runs: shown.map(({ behind: _, before: __, position: ___, ...row }) => toRunItem(row)),
    hasMore: rows.length > limit || Number(rows.at(-1)?.behind ?? 0) > 0,
    ...(last ? { last: { value: String(last.position), run_id: last.run_id } } : {}),
  };
}

/**
 * Counts matching runs up to a limit. Filters that only a scan can answer might take long, so the statement has a
 * timeout. Returns undefined if it is exceeded.
 */
export async function countRunsUpTo(sql: Sql, filter: RunFilter, max: number): Promise<number | undefined> {
  const words = wordConditions(sql, filter);
  const conditions = [...listsOf(filter).map((list) => anyOf(sql, list)), ...boundsOf(sql, filter)];
  try {
    return await inTransaction(sql, async (tx) => {
      await tx`select set_config('statement_timeout', ${String(COUNT_TIMEOUT_MS)}, true)`;
      const [row] = await tx<{ count: number }[]>`
        select count(*)::int as count from (
          select 1 from runs r ${words ? sql`join run_search w using (run_id)` : sql``}
          where ${all(sql, [...conditions, ...(words ? [words.fuzzy ?? words.exact] : [])])} and ${forceCustomPlan(sql)}
          limit ${max + 1}) found`;
      return row?.count ?? 0;
    });
  } catch (error) {
    if ((error as { code?: string }).code === QUERY_CANCELED) return undefined;
    throw error;
  }
}

/** Counts matching runs. Use it only with filters on states that few runs are in, because it reads all matches. */
export async function countRuns(sql: Sql, filter: RunFilter): Promise<number> {
  const words = wordConditions(sql, filter);
  const conditions = [
    ...listsOf(filter).map((list) => anyOf(sql, list)),
    ...boundsOf(sql, filter),
    ...(words
      ? [sql`(select ${words.fuzzy ?? words.exact} from run_search w where w.run_id = r.run_id)`]
      : []),
  ];
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from runs r where ${all(sql, conditions)} and ${forceCustomPlan(sql)}`;
  return row?.count ?? 0;
}

/**
 * Returns common table expressions for a `with` clause that contain a search's matches, if there are few enough to
 * sort. Fuzzy matching takes longer than exact matching, so it is skipped if there are already too many exact matches.
 * The expressions are materialized, so that PostgreSQL plans them as if they were read completely but evaluates them
 * only as far as needed.
 */
function matches(sql: Sql, { exact, fuzzy }: WordConditions) {
  const matching = (condition: Condition) => sql`select w.run_id from run_search w where ${condition}`;
  const isSmall = (name: string) =>
    sql`select count(*) <= ${MAX_SORTED} as is_small from (select 1 from ${sql(name)} limit ${MAX_SORTED + 1}) first`;
  if (!fuzzy)
    return sql`with found as materialized (${matching(exact)}), found_size as materialized (${isSmall("found")})`;
  return sql`
    with same as materialized (${matching(exact)}),
    same_size as materialized (${isSmall("same")}),
    found as materialized (${matching(sql`(select is_small from same_size) and ${fuzzy}`)}),
    found_size as materialized (
      select (select is_small from same_size) and is_small as is_small from (${isSmall("found")}) size
    )`;
}

/** Selects runs without an environment or without an error code. */
const NONE = "none";
/** Has an index, together with the time of creation. */
const ERROR_CODE = "(r.status_message ->> 'error_code')";

interface AnyOf {
  /** The name of a column, or an expression that is indexed. */
  column: string;
  /** Null selects runs without a value. */
  values: (string | null)[];
  type: "text" | "uuid";
}

function listsOf(filter: RunFilter): AnyOf[] {
  const list = (column: string, values: AnyOf["values"] | undefined, type: AnyOf["type"] = "text") =>
    values ? [{ column, values: [...new Set(values)], type }] : [];
  const orNull = (values: string[] | undefined) => values?.map((value) => (value === NONE ? null : value));
  return [
    ...list("state", filter.state),
    ...list("config_name", filter.config_name),
    ...list("model_id", filter.model_id),
    // The built-in harness has no value in the table; see boundsOf.
    ...list("harness", filter.harness?.includes(DEFAULT_HARNESS) ? undefined : filter.harness),
    ...list("creator_uid", filter.creator_uid, "uuid"),
    ...list("source", filter.source),
    ...list("environment_id", orNull(filter.environment_id), "uuid"),
    ...list("skill_spec", filter.skill_spec),
    ...list("pull_request_state", filter.pull_request_state),
    ...list(ERROR_CODE, orNull(filter.error_code)),
    // Every run with a pull request has one of these states, so that the index on them finds it.
    ...list("pull_request_state", isPullRequest(filter) ? [...pullRequestStates] : undefined),
    ...list("creator_uid", filter.visible_to ? [filter.visible_to] : undefined, "uuid"),
    ...list("environment_id", filter.repository_environments, "uuid"),
    ...list("environment_id", filter.visible_environments, "uuid"),
  ];
}

function isPullRequest({ artifact_type: types }: RunFilter): boolean {
  return types?.every((type) => type === "PULL_REQUEST") ?? false;
}

function anyOf(sql: Sql, { column, values, type }: AnyOf): Condition {
  const name = column === ERROR_CODE ? sql.unsafe(ERROR_CODE) : sql(`r.${column}`);
  const known = values.filter((value) => value !== null);
  const isKnown =
    known.length === 1
      ? sql`${name} = ${known[0] as string}`
      : sql`${name} = any(${known}::${sql.unsafe(type)}[])`;
  if (known.length === values.length) return isKnown;
  return known.length === 0 ? sql`${name} is null` : sql`(${isKnown} or ${name} is null)`;
}

function boundsOf(sql: Sql, filter: RunFilter): Condition[] {
  const { harness, artifact_type: types, created_after, created_before, updated_after } = filter;
  return [
    ...(types && !isPullRequest(filter)
      ? [
          sql`(${types.includes("PULL_REQUEST") ? sql`r.pull_request_state is not null` : sql`false`} or
            exists (select 1 from artifacts a where a.run_id = r.run_id and a.type = any(${types}::text[])))`,
        ]
      : []),
    ...(harness?.includes(DEFAULT_HARNESS)
      ? [sql`(r.harness is null or r.harness = any(${harness}::text[]))`]
      : []),
    ...(created_after ? [sql`r.created_at >= ${created_after}`] : []),
    ...(created_before ? [sql`r.created_at < ${created_before}`] : []),
    ...(updated_after ? [sql`r.updated_at >= ${updated_after}`] : []),
  ];
}
