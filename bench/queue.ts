import { randomUUID } from "node:crypto";
import { noUsage } from "@outrider/contract/run";
import { type Db, openDb } from "../packages/server/src/store/db.ts";
import { connect, type Server } from "../packages/worker/src/server.ts";
import { type Outrider, startOutrider } from "./outrider.ts";
import { compare, type Sample, type Verdict } from "./rounds.ts";

/**
 * How soon an accepted run is claimed, against the plainest queue there is on the same PostgreSQL: one table, `skip
 * locked` and NOTIFY. Times stand as rates, so that half the rate is twice the time.
 */

const SAMPLES = 60;
const patience = AbortSignal.timeout(10 * 60_000);

export async function benchQueue(only?: string): Promise<Verdict[]> {
  await using outrider = await startOutrider();
  await using stack = new AsyncDisposableStack();
  const subject = await subjectOf(outrider);
  stack.defer(async () => subject.stop());
  const db = openDb(outrider.connection, { connections: 4, applicationName: "outrider-bench-anchor" });
  stack.defer(() => db.end({ timeout: 5 }));
  const anchor = await anchorOf(db);
  await subject.sample(10);
  await anchor(10);
  const parts = [
    { name: "claim p50", limit: 1 / 2, of: 0.5 },
    { name: "claim p99", limit: 1 / 3, of: 0.99 },
  ].filter(({ name }) => !only || name === only);
  const verdicts: Verdict[] = [];
  for (const { name, limit, of } of parts) {
    verdicts.push(
      await compare({
        name,
        limit,
        subject: async () => rateOf(await subject.sample(SAMPLES), of),
        anchor: async () => rateOf(await anchor(SAMPLES), of),
      }),
    );
  }
  return verdicts;
}

function rateOf(times: number[], quantile: number): Sample {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (part: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] as number;
  return { perSecond: 1_000 / at(quantile), latency: { p50: at(0.5), p99: at(0.99) } };
}

/** A worker that does nothing but claim and end, beside a client that creates one run at a time. */
async function subjectOf({ origin, key }: Outrider) {
  const post = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const reply = await fetch(`${origin}/api/v1${path}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    if (!reply.ok) throw new Error(`POST ${path} answered ${reply.status}.`);
    return reply.json() as Promise<{ key: string; run_id: string }>;
  };
  const { key: workerKey } = await post("/keys", { name: "bench", type: "worker" });
  const server: Server = connect({ url: origin, key: workerKey });
  const worker = { worker_id: randomUUID(), name: "bench", version: "0", slots: 1 };
  const sampleOne = async () => {
    const claiming = server.claim({ request_id: randomUUID(), worker, free: 1, wait_ms: 10_000 }, patience);
    const { run_id } = await post("/agent/run", { prompt: "SAY: nothing" });
    const accepted = performance.now();
    const { executions } = await claiming;
    const took = performance.now() - accepted;
    const [taken] = executions;
    if (!taken || taken.run_id !== run_id)
      throw new Error("The claim did not bring the run that was created.");
    const outcome = { type: "succeeded" as const, text: "" };
    await server.finish(
      taken.execution_id,
      { run_id, batch: 1, events: [], usage: noUsage, outcome },
      patience,
    );
    // A claim may come back before the answer to the creation does.
    return Math.max(took, 0.01);
  };
  return {
    async sample(count: number): Promise<number[]> {
      const times: number[] = [];
      while (times.length < count) times.push(await sampleOne());
      return times;
    },
    stop: () => server.stop(),
  };
}

async function anchorOf(db: Db): Promise<(count: number) => Promise<number[]>> {
  await db`create table if not exists bench_jobs (id bigint generated always as identity primary key, taken boolean not null default false)`;
  const take = async () => {
    const rows = await db`
      update bench_jobs set taken = true where id = (
        select id from bench_jobs where not taken order by id limit 1 for update skip locked)
      returning id`;
    return rows.length > 0;
  };
  let wake = () => {};
  await db.listen("bench_jobs", () => wake());
  const sampleOne = async () => {
    const heard = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const taken = heard.then(take);
    await db.begin(async (tx) => {
      await tx`insert into bench_jobs default values`;
      await tx`select pg_notify('bench_jobs', '')`;
    });
    const accepted = performance.now();
    if (!(await taken)) throw new Error("The plain queue took nothing.");
    return Math.max(performance.now() - accepted, 0.01);
  };
  return async (count) => {
    const times: number[] = [];
    while (times.length < count) times.push(await sampleOne());
    return times;
  };
}
