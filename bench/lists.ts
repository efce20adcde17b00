import { limits } from "@outrider/contract/limits";
import type { ListRunsResponse, RunItem } from "@outrider/contract/run";
import type { Db } from "../packages/server/src/store/db.ts";
import { get, type Installation, startYear } from "./installation.ts";
import { benchLogs } from "./logs.ts";
import { type Recorded, recordRequests, type Statement } from "./recording.ts";
import { compare, inTurns, type Verdict } from "./rounds.ts";

/**
 * Lists of a year with a million runs and fifty million events, against those of a year with a hundredth of it: half the speed
 * is promised, for the first page and for one far in, and for logs. And what a search takes over HTTP, against its
 * statement alone. What comes back is checked.
 */

const MANY = 1_000_000;
const FEW = 10_000;
const EVENTS_PER_RUN = 50;
const PAGES = 10;
const TURNS = 4;
const SEARCHES = 10;
const BASE = "/agent/runs";
/** Of the largest pages in the large year, of usual ones in the small year. */
const FAR_PAGES = 40;

interface List {
  name: string;
  query(of: Installation): Record<string, string>;
  /** The column that all runs of the answer must have this in. */
  column?: "state" | "config_name" | "creator_uid" | "environment_id" | "source";
}

const lists: List[] = [
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
  { name: "by title", query: () => ({ sort_by: "title", sort_order: "asc" }) },
];

export async function benchLists(only?: string): Promise<Verdict[]> {
  await using few = await startYear(FEW, EVENTS_PER_RUN);
  await using many = await startYear(MANY, EVENTS_PER_RUN);
  const verdicts: Verdict[] = [];
  for (const list of lists) {
    for (const place of ["first page", "deep page"] as const) {
      const name = `list ${list.name}, ${place}`;
      if (only && !name.includes(only)) continue;
      const [subject, anchor] = [
        await pagesOf(list, many, place === "deep page"),
        await pagesOf(list, few, place === "deep page"),
      ];
      verdicts.push(
        await compare({ name, limit: 0.5, ...inTurns({ turns: TURNS, part: 0.5, subject, anchor }) }),
      );
    }
  }
  for (const q of ["invoice", "parsr", "3520"]) {
    const name = `search for ${q}`;
    if (only && !name.includes(only)) continue;
    verdicts.push(await compare({ name, limit: 1 / 3, ...(await searchOf(q, many)) }));
  }
  verdicts.push(...(await benchLogs({ many, few, only })));
  return verdicts;
}

async function pageOf(of: Installation, query: Record<string, string>): Promise<ListRunsResponse> {
  return get(of, `${BASE}?${new URLSearchParams(query)}`);
}

/** How long some pages took, after a look at what they hold. */
async function pagesOf(list: List, of: Installation, isDeep: boolean): Promise<() => Promise<number[]>> {
  const query = list.query(of);
  const cursor = isDeep ? await farIn(of, query) : undefined;
  const asked = { ...query, ...(cursor ? { cursor } : {}) };
  await requireRows(list, of, await pageOf(of, asked));
  return async () => {
    const times: number[] = [];
    for (let page = 0; page < PAGES; page++) {
      const began = performance.now();
      const { runs } = await pageOf(of, asked);
      times.push(performance.now() - began);
      requireFull(list, runs);
    }
    return times;
  };
}

/** So far in, or as far as there is still a whole page behind it. */
async function farIn(of: Installation, query: Record<string, string>): Promise<string> {
  let cursor: string | undefined;
  for (let page = 0; page < FAR_PAGES; page++) {
    const limit = String(of.runs === MANY ? limits.pageSize.max : limits.pageSize.default);
    const { page_info } = await pageOf(of, { ...query, limit, ...(cursor ? { cursor } : {}) });
    const behind = page_info.next_cursor && (await pageOf(of, { ...query, cursor: page_info.next_cursor }));
    if (!behind || behind.runs.length < limits.pageSize.default) break;
    cursor = page_info.next_cursor;
  }
  if (!cursor) throw new Error("A list has no page far in.");
  return cursor;
}

function requireFull({ name }: List, runs: RunItem[]) {
  if (runs.length !== limits.pageSize.default) throw new Error(`The list ${name} has ${runs.length} runs.`);
}

/** A whole page, in order, and of nothing but what was asked for. */
async function requireRows(list: List, of: Installation, { runs }: ListRunsResponse) {
  requireFull(list, runs);
  const query = list.query(of);
  const ids = runs.map(({ run_id }) => run_id);
  if (list.column) {
    const value = Object.values(query)[0] as string;
    const [row] = await of.db<{ count: number }[]>`
      select count(*)::int as count from runs where run_id = any(${ids}::uuid[]) and ${of.db(list.column)}::text = ${value}`;
    if (row?.count !== ids.length) throw new Error(`The list ${list.name} holds what was not asked for.`);
  }
  const by = query.sort_by === "title" ? "title" : "created_at";
  const inOrder = runs.every((run, index) => {
    const before = runs[index - 1];
    return !before || (by === "title" ? before.title <= run.title : before.created_at >= run.created_at);
  });
  if (!inOrder) throw new Error(`The list ${list.name} is not in order.`);
}

/** A search over HTTP, and its statement alone, sent by the same driver. */
async function searchOf(q: string, of: Installation) {
  const { outrider, db } = of;
  const headers = { authorization: `Bearer ${outrider.key}` };
  const path = `/api/v1${BASE}?${new URLSearchParams({ q })}`;
  const [recorded] = await recordRequests(outrider.connection, [{ method: "GET", path, headers }]);
  const found = (recorded as Recorded).answer.runs as RunItem[];
  if (found.length === 0) throw new Error(`Nothing was found for ${q}.`);
  const statement = statementsOf(recorded as Recorded).find(({ text }) =>
    text.includes("run_words"),
  ) as Statement;
  const measured = async (work: () => Promise<number>) => {
    const began = performance.now();
    const count = await work();
    if (count < found.length) throw new Error(`${count} instead of ${found.length} were found for ${q}.`);
    return [performance.now() - began];
  };
  return inTurns({
    turns: SEARCHES,
    part: 0.5,
    subject: () => measured(async () => (await pageOf(of, { q })).runs.length),
    anchor: () => measured(async () => (await send(db, statement)).length),
  });
}

function statementsOf({ steps }: Recorded): Statement[] {
  return steps.flatMap(({ statements }) => statements);
}

function send(db: Db, { text, values, types }: Statement) {
  const given = values.map((value, index) => (types[index] ? db.typed(value as never, types[index]) : value));
  return db.unsafe(text, given as never[], { prepare: true });
}
