import { limits } from "@outrider/contract/limits";
import type { ListRunsResponse, RunItem } from "@outrider/contract/run";
import type { Db } from "../../packages/server/src/store/connection/db.ts";
import { type BenchResult, compare, interleave } from "../support/compare.ts";
import { type Recorded, recordRequests, type Statement } from "../support/record-statements.ts";
import { get, type Installation, startLargeInstallation } from "./large-installation.ts";
import { benchLogs } from "./logs.ts";

/**
 * Compares lists in an installation with a million runs and 50 million events to lists in one of a hundredth the size: the
 * first page, a deep page and logs must reach half the speed. Also compares a search over HTTP to its SQL statement alone.
 * All responses are validated.
 */

const LARGE = 1_000_000;
const SMALL = 10_000;
const EVENTS_PER_RUN = 50;
const PAGES = 10;
const TURNS = 4;
const SEARCHES = 10;
const BASE = "/agent/runs";
/** Pages of maximum size in the large installation, of default size in the small one. */
const DEEP_PAGES = 40;

interface ListQuery {
  name: string;
  query(of: Installation): Record<string, string>;
  /** The column or expression in which all returned runs must have the filter's value. */
  column?: string;
  /** The column that runs are sorted by; default: the time of creation. */
  sortColumn?: string;
}

const lists: ListQuery[] = [
  { name: "all", query: () => ({}) },
  { name: "by state", query: () => ({ state: "FAILED" }), column: "state" },
  { name: "by name", query: () => ({ name: "agent-03" }), column: "config_name" },
  { name: "by creator", query: ({ creator }) => ({ creator }), column: "creator_uid" },
  {
    name: "by environment",
    query: ({ environment }) => ({ environment_id: environment }),
    column: "environment_id",
  },
  { name: "by source", query: () => ({ source: "WEB_APP" }), column: "source" },
  {
    name: "by error code",
    query: () => ({ error_code: "timeout" }),
    column: "status_message ->> 'error_code'",
  },
  {
    name: "by error code and environment",
    query: ({ environment }) => ({ environment_id: environment, error_code: "timeout" }),
    column: "environment_id",
  },
  { name: "by title", query: () => ({ sort_by: "title", sort_order: "asc" }), sortColumn: "title" },
  { name: "by cost", query: () => ({ sort_by: "cost", sort_order: "desc" }), sortColumn: "cost_usd" },
  {
    name: "by duration",
    query: () => ({ sort_by: "duration", sort_order: "desc" }),
    sortColumn: "run_seconds",
  },
];

export async function benchLists(only?: string): Promise<BenchResult[]> {
  // Only logs read events, and writing them takes most of the time.
  const eventsPerRun = only?.startsWith("list ") ? 1 : EVENTS_PER_RUN;
  await using small = await startLargeInstallation(SMALL, eventsPerRun);
  await using large = await startLargeInstallation(LARGE, eventsPerRun);
  const results: BenchResult[] = [];
  for (const list of lists) {
    for (const depth of ["first page", "deep page"] as const) {
      const name = `list ${list.name}, ${depth}`;
      if (only && !name.includes(only)) continue;
      const [subject, baseline] = [
        await pagesOf(list, large, depth === "deep page"),
        await pagesOf(list, small, depth === "deep page"),
      ];
      results.push(
        await compare({
          name,
          limit: 0.5,
          ...interleave({ turns: TURNS, quantile: 0.5, subject, baseline }),
        }),
      );
    }
  }
  for (const q of ["invoice", "parsr", "3520"]) {
    const name = `search for ${q}`;
    if (only && !name.includes(only)) continue;
    results.push(await compare({ name, limit: 1 / 3, ...(await searchOf(q, large)) }));
  }
  results.push(...(await benchLogs({ large, small, only })));
  return results;
}

async function pageOf(of: Installation, query: Record<string, string>): Promise<ListRunsResponse> {
  return get(of, `${BASE}?${new URLSearchParams(query)}`);
}

/** Returns a function that measures page requests, after validating the page. */
async function pagesOf(list: ListQuery, of: Installation, isDeep: boolean): Promise<() => Promise<number[]>> {
  const query = list.query(of);
  const cursor = isDeep ? await deepCursor(of, query) : undefined;
  const pageQuery = { ...query, ...(cursor ? { cursor } : {}) };
  await requireRows(list, of, await pageOf(of, pageQuery));
  return async () => {
    const times: number[] = [];
    for (let page = 0; page < PAGES; page++) {
      const startedAt = performance.now();
      const { runs } = await pageOf(of, pageQuery);
      times.push(performance.now() - startedAt);
      requireFull(list, runs);
    }
    return times;
  };
}

/** Returns a cursor that many pages deep, or as deep as a full page still follows. */
async function deepCursor(of: Installation, query: Record<string, string>): Promise<string> {
  let cursor: string | undefined;
  for (let page = 0; page < DEEP_PAGES; page++) {
    const limit = String(of.runs === LARGE ? limits.pageSize.max : limits.pageSize.default);
    const { page_info } = await pageOf(of, { ...query, limit, ...(cursor ? { cursor } : {}) });
    const nextPage = page_info.next_cursor && (await pageOf(of, { ...query, cursor: page_info.next_cursor }));
    if (!nextPage || nextPage.runs.length < limits.pageSize.default) break;
    cursor = page_info.next_cursor;
  }
  if (!cursor) throw new Error("The list has no deep page.");
  return cursor;
}

function requireFull({ name }: ListQuery, runs: RunItem[]) {
  if (runs.length !== limits.pageSize.default) throw new Error(`The list ${name} has ${runs.length} runs.`);
}

/** Requires a full page that is sorted and contains only matching runs. */
async function requireRows(list: ListQuery, of: Installation, { runs }: ListRunsResponse) {
  requireFull(list, runs);
  const query = list.query(of);
  const ids = runs.map(({ run_id }) => run_id);
  if (list.column) {
    const value = Object.values(query)[0] as string;
    const [row] = await of.db<{ count: number }[]>`
      select count(*)::int as count from runs
      where run_id = any(${ids}::uuid[]) and (${of.db.unsafe(list.column)})::text = ${value}`;
    if (row?.count !== ids.length)
      throw new Error(`The list ${list.name} contains runs that do not match the filter.`);
  }
  const direction = of.db.unsafe(query.sort_order ?? "desc");
  const sorted = await of.db<{ run_id: string }[]>`
    select run_id from runs where run_id = any(${ids}::uuid[])
    order by ${of.db(list.sortColumn ?? "created_at")} ${direction}, run_id ${direction}`;
  if (sorted.some(({ run_id }, index) => run_id !== ids[index]))
    throw new Error(`The list ${list.name} is not sorted.`);
}

/** Measures a search over HTTP, and its SQL statement alone with the same driver. */
async function searchOf(q: string, of: Installation) {
  const { outrider, db } = of;
  const headers = { authorization: `Bearer ${outrider.key}` };
  const path = `/api/v1${BASE}?${new URLSearchParams({ q })}`;
  const [recorded] = await recordRequests(outrider.connection, [{ method: "GET", path, headers }]);
  const found = (recorded as Recorded).answer.runs as RunItem[];
  if (found.length === 0) throw new Error(`The search for ${q} found nothing.`);
  const statement = statementsOf(recorded as Recorded).find(({ text }) =>
    text.includes("run_search"),
  ) as Statement;
  const measured = async (work: () => Promise<number>) => {
    const startedAt = performance.now();
    const count = await work();
    if (count < found.length) throw new Error(`${count} instead of ${found.length} were found for ${q}.`);
    return [performance.now() - startedAt];
  };
  return interleave({
    turns: SEARCHES,
    quantile: 0.5,
    subject: () => measured(async () => (await pageOf(of, { q })).runs.length),
    baseline: () => measured(async () => (await send(db, statement)).length),
  });
}

function statementsOf({ steps }: Recorded): Statement[] {
  return steps.flatMap(({ statements }) => statements);
}

function send(db: Db, { text, values, types }: Statement) {
  const given = values.map((value, index) =>
    types[index] ? db.typed(value as string, types[index]) : value,
  );
  return db.unsafe(text, given as string[], { prepare: true });
}
