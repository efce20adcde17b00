import { randomUUID } from "node:crypto";
import { limits } from "@outrider/contract/limits";
import { type Db, openDb } from "../packages/server/src/store/db.ts";
import type { Replay, ReplayResult, Swap } from "./anchor.ts";
import { type Child, startChild } from "./child.ts";
import type { Load, LoadResult } from "./load.ts";
import { type Outrider, startOutrider } from "./outrider.ts";
import { type Recorded, recordRequests } from "./recording.ts";
import { compare, type Verdict } from "./rounds.ts";
import { promptOf, seedRuns } from "./seed.ts";
import { requireSameStatements } from "./seen.ts";

/**
 * What HTTP, checks and JSON cost: each call under load, against its anchor, which is every statement that
 * one request causes, sent by the same driver over as many connections from a process that does nothing else.
 */

const CONNECTIONS = 32;
const RUNS = 10_000;
const IDS = 200;
const WARM_UP_SECONDS = 2;
const ROUND_SECONDS = 3;
const BASE = "/api/v1/agent";
/** The names that PostgreSQL knows both sides by. */
const SERVICE = "outrider";
const ANCHOR = "outrider-bench-anchor";

interface Call {
  name: string;
  /** The least that it must reach, as a part of its anchor. */
  limit: number;
  /** Asked for in turn. */
  paths: string[];
  /** Where there is one, it is posted, with an Idempotency-Key, as clients do that try again. */
  body?: string;
  /** How many runs each answer names. */
  runs: number;
  /** What is another one in each request. */
  swaps(recorded: Recorded, idempotencyKey: string): Swap[];
}

function callsFor(ids: string[]): Call[] {
  const list = { limit: 0.25, runs: limits.pageSize.default, swaps: () => [] };
  return [
    {
      name: "get",
      limit: 0.25,
      paths: ids.map((id) => `${BASE}/runs/${id}`),
      runs: 1,
      swaps: ({ answer }) => [{ recorded: answer.run_id as string, by: ids }],
    },
    { name: "list", ...list, paths: [`${BASE}/runs`] },
    { name: "list by state", ...list, paths: [`${BASE}/runs?state=FAILED`] },
    // The last one: it makes the table that the others read grow.
    {
      name: "create",
      limit: 0.5,
      paths: [`${BASE}/run`],
      body: JSON.stringify({ prompt: promptOf(0) }),
      runs: 1,
      swaps: ({ answer }, idempotencyKey) => [
        { recorded: answer.run_id as string, by: "run id" },
        { recorded: idempotencyKey, by: "idempotency key" },
      ],
    },
  ];
}

export async function benchCalls(only?: string): Promise<Verdict[]> {
  await using outrider = await startOutrider();
  await using stack = new AsyncDisposableStack();
  const db = openDb(outrider.connection, { connections: 1, applicationName: "outrider-bench" });
  stack.defer(() => db.end({ timeout: 5 }));
  await seedRuns(db, { key: outrider.key, count: RUNS });
  const [facts] = await db`
    select current_setting('server_version') as version, current_setting('fsync') as fsync`;
  console.log(
    `PostgreSQL ${facts?.version}, fsync ${facts?.fsync}, ${RUNS} runs, ${CONNECTIONS} connections a side`,
  );

  const rows = await db<{ run_id: string }[]>`select run_id from runs order by random() limit ${IDS}`;
  const calls = callsFor(rows.map(({ run_id }) => run_id)).filter(({ name }) => !only || name === only);
  const contests = await prepare(outrider, calls);
  const load = stack.use(startChild("load.ts"));
  const anchor = stack.use(startChild("anchor.ts"));
  const verdicts: Verdict[] = [];
  for (const contest of contests) verdicts.push(await run(contest, { db, load, anchor }));
  return verdicts;
}

/** What each side is told to do, but for how long. */
interface Prepared {
  call: Call;
  load: Omit<Load, "seconds">;
  replay: Omit<Replay, "seconds">;
}

async function prepare({ origin, key, connection }: Outrider, calls: Call[]): Promise<Prepared[]> {
  const idempotencyKey = randomUUID();
  const requests = calls.map(({ paths, body }) => ({
    method: body === undefined ? ("GET" as const) : ("POST" as const),
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body }),
    paths,
  }));
  const recordings = await recordRequests(
    connection,
    requests.map(({ paths, headers, ...request }) => ({
      ...request,
      path: paths[0] as string,
      headers: request.method === "POST" ? { ...headers, "idempotency-key": idempotencyKey } : headers,
    })),
  );
  return calls.map((call, index) => {
    const request = requests[index] as (typeof requests)[number];
    const recorded = recordings[index] as Recorded;
    const { steps } = recorded;
    const swaps = call.swaps(recorded, idempotencyKey);
    const freshKeys = request.method === "POST";
    return {
      call,
      load: { requests: { ...request, origin, freshKeys, runs: call.runs }, connections: CONNECTIONS },
      replay: { connection, program: ANCHOR, connections: CONNECTIONS, steps, swaps },
    };
  });
}

async function run(
  { call, load, replay }: Prepared,
  processes: { db: Db; load: Child; anchor: Child },
): Promise<Verdict> {
  const { db } = processes;
  let acknowledged = 0;
  const serve = async (seconds: number) => {
    const result = await processes.load.ask<LoadResult>({ ...load, seconds });
    acknowledged += result.acknowledged;
    return result;
  };
  const send = async (seconds: number) => {
    const result = await processes.anchor.ask<ReplayResult>({ ...replay, seconds });
    acknowledged += result.done;
    return result;
  };
  const before = await countRows(db);
  const { steps } = replay;
  await requireSameStatements(db, { program: SERVICE, steps, work: serve(WARM_UP_SECONDS) });
  await requireSameStatements(db, { program: ANCHOR, steps, work: send(WARM_UP_SECONDS) });
  const verdict = await compare({
    name: call.name,
    limit: call.limit,
    subject: () => serve(ROUND_SECONDS),
    anchor: () => send(ROUND_SECONDS),
  });
  const after = await countRows(db);
  const expected = call.body === undefined ? 0 : acknowledged;
  for (const table of ["runs", "answers"] as const) {
    const stored = after[table] - before[table];
    if (stored !== expected)
      throw new Error(`${call.name}: ${expected} were acknowledged, but ${stored} ${table} stored.`);
  }
  return verdict;
}

/** Runs, and answers that are kept for an Idempotency-Key. */
async function countRows(db: Db): Promise<{ runs: number; answers: number }> {
  const [row] = await db<{ runs: number; answers: number }[]>`
    select (select count(*)::int from runs) as runs,
      (select count(*)::int from idempotency_keys where status = 200) as answers`;
  return row as { runs: number; answers: number };
}
