import { randomUUID } from "node:crypto";
import { limits } from "@outrider/contract/limits";
import { type Db, openDb } from "../../packages/server/src/store/connection/db.ts";
import { type Child, startChild } from "../support/child-process.ts";
import { type BenchResult, compare } from "../support/compare.ts";
import { type Recorded, recordRequests } from "../support/record-statements.ts";
import { type Outrider, startOutrider } from "../support/start-outrider.ts";
import type { Load, LoadResult } from "./http-load.ts";
import type { Replay, ReplayResult, Swap } from "./replay-statements.ts";
import { requireSameStatements } from "./require-same-statements.ts";
import { promptOf, seedRuns } from "./seed-runs.ts";

/**
 * Measures the overhead of HTTP, validation and JSON: each API call under load, compared to a baseline that sends the same
 * SQL statements with the same driver and number of connections, from a process that does nothing else.
 */

const CONNECTIONS = 32;
const RUNS = 10_000;
const IDS = 200;
const WARM_UP_SECONDS = 2;
const ROUND_SECONDS = 3;
const BASE = "/api/v1/agent";
/** The application names of both sides in PostgreSQL. */
const SERVICE = "outrider";
const BASELINE = "outrider-bench-baseline";

interface Call {
  name: string;
  /** The required ratio to the baseline. */
  limit: number;
  /** Requested in turn. */
  paths: string[];
  /** If present, it is posted with an Idempotency-Key, as by clients that retry. */
  body?: string;
  /** The number of runs in each response. */
  runs: number;
  /** The values that change with each request. */
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
    // Last, because it grows the table that the others read.
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

export async function benchCalls(only?: string): Promise<BenchResult[]> {
  await using outrider = await startOutrider();
  await using stack = new AsyncDisposableStack();
  const db = openDb(outrider.connection, { connections: 1, applicationName: "outrider-bench" });
  stack.defer(() => db.end({ timeout: 5 }));
  await seedRuns(db, { key: outrider.key, count: RUNS });
  const [facts] = await db`
    select current_setting('server_version') as version, current_setting('fsync') as fsync`;
  console.log(
    `PostgreSQL ${facts?.version}, fsync ${facts?.fsync}, ${RUNS} runs, ${CONNECTIONS} connections per side`,
  );

  const rows = await db<{ run_id: string }[]>`select run_id from runs order by random() limit ${IDS}`;
  const calls = callsFor(rows.map(({ run_id }) => run_id)).filter(({ name }) => !only || name === only);
  const preparedCalls = await prepare(outrider, calls);
  const load = stack.use(startChild(new URL("./http-load.ts", import.meta.url)));
  const baseline = stack.use(startChild(new URL("./replay-statements.ts", import.meta.url)));
  const results: BenchResult[] = [];
  for (const prepared of preparedCalls) results.push(await run(prepared, { db, load, baseline }));
  return results;
}

/** The work of each side, without its duration. */
interface PreparedCall {
  call: Call;
  load: Omit<Load, "seconds">;
  replay: Omit<Replay, "seconds">;
}

async function prepare({ origin, key, connection }: Outrider, calls: Call[]): Promise<PreparedCall[]> {
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
      replay: { connection, program: BASELINE, connections: CONNECTIONS, steps, swaps },
    };
  });
}

async function run(
  { call, load, replay }: PreparedCall,
  processes: { db: Db; load: Child; baseline: Child },
): Promise<BenchResult> {
  const { db } = processes;
  let acknowledged = 0;
  const serve = async (seconds: number) => {
    const result = await processes.load.ask<LoadResult>({ ...load, seconds });
    acknowledged += result.acknowledged;
    return result;
  };
  const send = async (seconds: number) => {
    const result = await processes.baseline.ask<ReplayResult>({ ...replay, seconds });
    acknowledged += result.done;
    return result;
  };
  const before = await countRows(db);
  const { steps } = replay;
  await requireSameStatements(db, { program: SERVICE, steps, work: serve(WARM_UP_SECONDS) });
  await requireSameStatements(db, { program: BASELINE, steps, work: send(WARM_UP_SECONDS) });
  const result = await compare({
    name: call.name,
    limit: call.limit,
    subject: () => serve(ROUND_SECONDS),
    baseline: () => send(ROUND_SECONDS),
  });
  const after = await countRows(db);
  const expected = call.body === undefined ? 0 : acknowledged;
  for (const table of ["runs", "answers"] as const) {
    const stored = after[table] - before[table];
    if (stored !== expected)
      throw new Error(`${call.name}: ${expected} were acknowledged, but ${stored} ${table} were stored.`);
  }
  return result;
}

/** Counts runs, and responses that are stored for an Idempotency-Key. */
async function countRows(db: Db): Promise<{ runs: number; answers: number }> {
  const [row] = await db<{ runs: number; answers: number }[]>`
    select (select count(*)::int from runs) as runs,
      (select count(*)::int from idempotency_keys where status = 200) as answers`;
  return row as { runs: number; answers: number };
}
