import { limits } from "@outrider/contract/limits";
import type { RunItem, RunSourceType, RunState } from "@outrider/contract/run";
import { plannedForItsValues, type Sql } from "./db.ts";
import { columns, creators, toRunItem } from "./runs.ts";
import { all, type Condition, type WordConditions, wordConditions } from "./search.ts";

export interface RunFilter {
  state?: RunState[];
  config_name?: string[];
  model_id?: string[];
  creator_uid?: string[];
  source?: RunSourceType[];
  environment_id?: string[];
  skill_spec?: string[];
  created_after?: string;
  created_before?: string;
  updated_after?: string;
  metadata?: Record<string, string>;
  q?: string;
  /** Only this creator's runs are visible, whatever the other filters ask for. */
  visible_to?: string;
}

export interface RunSort {
  by: "created_at" | "updated_at" | "title";
  order: "asc" | "desc";
}

export interface RunPosition {
  value: string;
  run_id: string;
}

/** So many runs that a search finds are put in order; where there are more, runs are looked at in order until a page is full. */
const SORTED = 1_000;
/** Up to so many values of an "any of" are asked for one by one. */
const SPLIT = 8;
/** A page that has come so far is full: a configuration can be as long as a request's body. In bytes of these. */
const MOST_CONFIGURATION = 4 * 1024 * 1024;

export interface RunPage {
  runs: RunItem[];
  hasMore: boolean;
}

/**
 * One page in keyset order, beginning behind `after`: `limit` runs, or fewer where they are large.
 *
 * First the page's runs are chosen, from an index that gives the order or that finds few, so that the size of the table
 * does not matter. Then what the page shows is read, of those alone. docs/decisions/scale.md has the figures.
 */
export async function listRuns(
  sql: Sql,
  { filter, sort, after, limit }: { filter: RunFilter; sort: RunSort; after?: RunPosition; limit: number },
): Promise<RunPage> {
  const column = sql(`r.${sort.by}`);
  const direction = sort.order === "asc" ? sql`asc` : sql`desc`;
  const order = sql`order by ${column} ${direction}, r.run_id ${direction}`;
  const lists = listsOf(filter);
  const bounds = boundsOf(sql, filter);
  if (after) {
    const type = sort.by === "title" ? sql`text` : sql`timestamptz`;
    const beyond = sort.order === "asc" ? sql`>` : sql`<`;
    bounds.push(sql`(${column}, r.run_id) ${beyond} (${after.value}::${type}, ${after.run_id}::uuid)`);
  }
  const words = wordConditions(sql, filter);
  // The usual page of all runs has one good plan; under filters the plan must depend on the values.
  const isUsual = lists.length + bounds.length === 0 && !words && limit === limits.pageSize.default;
  // One more tells that there is a next page.
  const size = isUsual ? sql.unsafe(String(limit + 1)) : sql`${limit + 1}`;
  const choose = (conditions: Condition[]) =>
    sql`select r.run_id, ${column} from runs r where ${all(sql, conditions)} ${order} limit ${size}`;
  const within = (conditions: Condition[], among: AnyOf[] = lists) =>
    choose([...conditions, ...among.map((list) => anyOf(sql, list)), ...bounds]);

  /** For one value an index also gives the order, for several it does not: so each is asked for by itself. */
  const inOrder = (conditions: Condition[]) => {
    const [split, ...others] =
      sort.by === "created_at" ? lists.toSorted((a, b) => a.values.length - b.values.length) : [];
    if (!split || split.values.length === 0 || split.values.length > SPLIT)
      return sql`(${within(conditions)})`;
    return split.values
      .map((value) => sql`(${within([...conditions, anyOf(sql, { ...split, values: [value] })], others)})`)
      .reduce((before, one) => sql`${before} union all ${one}`);
  };

  const cut = limits.listedPromptCharacters;
  const rows = await sql`
    ${words ? found(sql, words) : sql``}
    select * from (
      select ${columns(sql)}, left(r.prompt, ${cut}) as prompt, nullif(char_length(r.prompt) > ${cut}, false) as prompt_truncated,
        count(*) over () - row_number() over in_order as behind,
        sum(octet_length(r.agent_config::text)) over in_order - octet_length(r.agent_config::text) as before
      from (
        select r.run_id from (${
          words
            ? sql`
              (${within([sql`(select is_small from found_size)`, sql`r.run_id in (select run_id from found)`])})
              union all
              ${inOrder([
                sql`not (select is_small from found_size)`,
                // Asked of each run by itself, whatever the database thinks of how many there are.
                sql`(select ${words.forgiving ?? words.exact} from run_words w where w.run_id = r.run_id)`,
              ])}`
            : inOrder([])
        }) r ${order} limit ${size}
      ) page join runs r using (run_id) join run_heads h using (run_id) ${creators(sql)}
      ${isUsual ? sql`` : sql`where ${plannedForItsValues(sql)}`}
      window in_order as (${order})
    ) listed where before < ${MOST_CONFIGURATION} order by behind desc`;
  const runs = rows.slice(0, limit).map(({ behind: _, before: __, ...row }) => toRunItem(row));
  return { runs, hasMore: rows.length > limit || Number(rows.at(-1)?.behind ?? 0) > 0 };
}

/** How many there are. Meant for filters that name states which few runs are in. */
export async function countRuns(sql: Sql, filter: RunFilter): Promise<number> {
  const words = wordConditions(sql, filter);
  const conditions = [
    ...listsOf(filter).map((list) => anyOf(sql, list)),
    ...boundsOf(sql, filter),
    ...(words
      ? [sql`(select ${words.forgiving ?? words.exact} from run_words w where w.run_id = r.run_id)`]
      : []),
  ];
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from runs r where ${all(sql, conditions)} and ${plannedForItsValues(sql)}`;
  return row?.count ?? 0;
}

/**
 * For a statement's `with`: what a search finds, if that is not too much to be put in order. What is alike takes longer to
 * find than what is the same, and is not looked for where that alone is too much. Each is materialized, so that it is
 * planned as if all of it were wanted, and yet read no further than asked for.
 */
function found(sql: Sql, { exact, forgiving }: WordConditions) {
  const matching = (condition: Condition) => sql`select w.run_id from run_words w where ${condition}`;
  const isSmall = (name: string) =>
    sql`select count(*) <= ${SORTED} as is_small from (select 1 from ${sql(name)} limit ${SORTED + 1}) first`;
  if (!forgiving)
    return sql`with found as materialized (${matching(exact)}), found_size as materialized (${isSmall("found")})`;
  return sql`
    with same as materialized (${matching(exact)}),
    same_size as materialized (${isSmall("same")}),
    found as materialized (${matching(sql`(select is_small from same_size) and ${forgiving}`)}),
    found_size as materialized (
      select (select is_small from same_size) and is_small as is_small from (${isSmall("found")}) size
    )`;
}

interface AnyOf {
  column: string;
  values: string[];
  type: "text" | "uuid";
}

function listsOf(filter: RunFilter): AnyOf[] {
  const list = (column: string, values: string[] | undefined, type: AnyOf["type"] = "text") =>
    values ? [{ column, values: [...new Set(values)], type }] : [];
  return [
    ...list("state", filter.state),
    ...list("config_name", filter.config_name),
    ...list("model_id", filter.model_id),
    ...list("creator_uid", filter.creator_uid, "uuid"),
    ...list("source", filter.source),
    ...list("environment_id", filter.environment_id, "uuid"),
    ...list("skill_spec", filter.skill_spec),
    ...list("creator_uid", filter.visible_to === undefined ? undefined : [filter.visible_to], "uuid"),
  ];
}

function anyOf(sql: Sql, { column, values, type }: AnyOf): Condition {
  const name = sql(`r.${column}`);
  return values.length === 1
    ? sql`${name} = ${values[0] as string}`
    : sql`${name} = any(${values}::${sql.unsafe(type)}[])`;
}

function boundsOf(sql: Sql, { created_after, created_before, updated_after }: RunFilter): Condition[] {
  return [
    ...(created_after ? [sql`r.created_at >= ${created_after}`] : []),
    ...(created_before ? [sql`r.created_at < ${created_before}`] : []),
    ...(updated_after ? [sql`r.updated_at >= ${updated_after}`] : []),
  ];
}
