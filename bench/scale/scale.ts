import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Db, openDb } from "../../packages/server/src/store/connection/db.ts";
import { startChild } from "../support/child-process.ts";
import { type BenchResult, checkLimit } from "../support/compare.ts";
import { type CountedDatabase, startCountedDatabase } from "../support/counted-database.ts";
import type { StartWorkers } from "../support/protocol-workers.ts";
import { createWorkerKey, type Outrider, post, startOutrider } from "../support/start-outrider.ts";
import { waitUntil } from "../support/wait-until.ts";
import { CONNECTIONS_PER_SERVER, predictIdleStatements, TOLERANCE } from "./model.ts";
import { countMostActive, listWaits } from "./run-history.ts";

/**
 * Starts 5, 10 and 20 servers with one PostgreSQL and 2,000 workers. With each number of servers, it compares the statements
 * and connections of idle workers to the model (model.ts). With the last one, several owners create more runs than the
 * concurrency limits allow at a time. Then the log shows that no limit was exceeded and no owner was starved.
 */

const SERVERS = [5, 10, 20];
const WORKERS = 2_000;
const KEYS = 20;
const START_TOGETHER = 4;
const SETTLE_MS = 10_000;
const MEASURE_MS = 20_000;
const HOLD_MS = 500;

const INSTALLATION_LIMIT = 40;
/** The first owner creates its runs before the others do. The last one also has a limit for its key. */
const OWNERS = [
  { name: "first", runs: 300, agentLimit: 15 },
  { name: "second", runs: 80, agentLimit: 15 },
  { name: "third", runs: 80, agentLimit: 15 },
  { name: "fourth", runs: 40, agentLimit: 15, keyLimit: 5 },
];
const CREATORS = 8;
/** The number of concurrent requests after which a server has opened all its connections. */
const BURST = 100;
/** An owner waits at most this many times as long as with exactly its share of the claims. */
const MAX_UNFAIRNESS = 2;

interface Owner {
  name: string;
  runs: number;
  agentLimit: number;
  keyLimit?: number;
  uid: string;
  keyId: string;
  key: string;
}

/** `part` is one of the numbers of servers. */
export async function benchScale(part?: string): Promise<BenchResult[]> {
  await using stack = new AsyncDisposableStack();
  const maxConnections = Math.max(...SERVERS) * CONNECTIONS_PER_SERVER + 20;
  const database = stack.use(
    await startCountedDatabase({ max_connections: String(maxConnections), track_commit_timestamp: "on" }),
  );
  const db = openDb(database.connection, { connections: 1, applicationName: "outrider-bench" });
  stack.defer(() => db.end({ timeout: 5 }));
  const settings = {
    OUTRIDER_MASTER_KEY: randomBytes(32).toString("base64"),
    OUTRIDER_MAX_CONCURRENT_RUNS: String(INSTALLATION_LIMIT),
  };
  const first = stack.use(await startOutrider({ ...database, settings }));
  const servers = [first];
  const keys: string[] = [];
  for (let count = 0; count < KEYS; count++) keys.push(await createWorkerKey(first));
  const results: BenchResult[] = [];
  const startNext = async () => {
    servers.push(stack.use(await startOutrider({ ...database, settings, key: first.key })));
  };
  const counts = part ? SERVERS.filter((count) => count === Number(part)) : SERVERS;
  for (const count of counts) {
    while (servers.length < count)
      await Promise.all(Array.from({ length: Math.min(START_TOGETHER, count - servers.length) }, startNext));
    await using workers = startChild(new URL("../support/protocol-workers.ts", import.meta.url));
    const origins = servers.map(({ origin }) => origin);
    await workers.ask({ origins, keys, workers: WORKERS, holdMs: HOLD_MS } satisfies StartWorkers);
    for (const server of servers) await openConnections(server);
    results.push(...(await measureIdle(database, count)));
    if (count === counts.at(-1)) results.push(...(await runAll(database, db, servers)));
  }
  return results;
}

/** A server opens connections when it needs them and keeps them, so its most requests at a time decide how many it has. */
async function openConnections({ origin, key }: Outrider) {
  const headers = { authorization: `Bearer ${key}` };
  const get = async () => {
    const reply = await fetch(`${origin}/api/v1/agent/environments`, { headers });
    if (!reply.ok) throw new Error(`GET /agent/environments returned ${reply.status}: ${await reply.text()}`);
    await reply.arrayBuffer();
  };
  await Promise.all(Array.from({ length: BURST }, get));
}

async function measureIdle({ counter }: CountedDatabase, servers: number): Promise<BenchResult[]> {
  await sleep(SETTLE_MS);
  const before = counter.count();
  const startedAt = performance.now();
  await sleep(MEASURE_MS);
  const perSecond = (counter.count() - before) / ((performance.now() - startedAt) / 1_000);
  const connections = counter.connections();
  const predicted = predictIdleStatements({ servers, workers: WORKERS });
  const max = servers * CONNECTIONS_PER_SERVER;
  console.log(
    `  ${servers} servers: ${perSecond.toFixed(1)} statements per second (predicted ${predicted.toFixed(1)}), ` +
      `${connections} connections (predicted ${max})`,
  );
  return [
    comparePrediction(`${servers} servers, idle`, perSecond, predicted),
    { ...comparePrediction(`${servers} servers, predicted`, connections, max), unit: "connections" },
    checkLimit({ name: `${servers} servers, limit`, measured: [connections], max, unit: "connections" }),
  ];
}

/** The ratio is 1 if the prediction is exact, and less if the measurement is above or below it. */
function comparePrediction(name: string, measured: number, predicted: number): BenchResult {
  const ratio = 1 - Math.abs(measured - predicted) / predicted;
  return { name, limit: 1 - TOLERANCE, ratio, range: [ratio, ratio], subject: measured, baseline: predicted };
}

/** Creates the runs of all owners and checks the log when they have ended. */
async function runAll({ counter }: CountedDatabase, db: Db, servers: Outrider[]): Promise<BenchResult[]> {
  const owners: Owner[] = [];
  for (const owner of OWNERS) owners.push(await createOwner(servers[0] as Outrider, owner));
  const before = counter.count();
  const startedAt = performance.now();
  for (const [index, group] of [owners.slice(0, 1), owners.slice(1)].entries()) {
    const prompts = group.flatMap(({ key, runs }) => Array.from({ length: runs }, () => key));
    let next = 0;
    const create = async () => {
      for (let number = next++; number < prompts.length; number = next++) {
        const { origin } = servers[(number + index) % servers.length] as Outrider;
        await post({ origin, key: prompts[number] as string }, "/agent/run", { prompt: "SAY: nothing" });
      }
    };
    await Promise.all(Array.from({ length: CREATORS }, create));
  }
  await waitUntil("all runs to end", async () => {
    const [row] =
      await db`select exists (select 1 from run_state where state in ('QUEUED', 'INPROGRESS')) as open`;
    return row?.open === false;
  });
  const seconds = (performance.now() - startedAt) / 1_000;
  const runs = owners.reduce((sum, owner) => sum + owner.runs, 0);
  const [ended] = await db<{ count: number }[]>`
    select count(*)::int as count from run_state where state = 'SUCCEEDED' and attempt = 1`;
  if (ended?.count !== runs)
    throw new Error(`${runs} runs were created, but ${ended?.count} succeeded at once.`);
  const idle = predictIdleStatements({ servers: servers.length, workers: WORKERS }) * seconds;
  const perRun = (counter.count() - before - idle) / runs;
  console.log(
    `  ${runs} runs in ${seconds.toFixed(0)} s, about ${perRun.toFixed(0)} statements for each beside the idle ones`,
  );
  const active = await countMostActive(db);
  const limits = [
    { name: "installation", max: INSTALLATION_LIMIT, most: active.installation },
    ...owners.map(({ name, uid, agentLimit }) => ({ name, max: agentLimit, most: active[uid] ?? 0 })),
    ...owners.flatMap(({ name, keyId, keyLimit }) =>
      keyLimit === undefined ? [] : [{ name: `${name} (key)`, max: keyLimit, most: active[keyId] ?? 0 }],
    ),
  ];
  const shareOf = ({ agentLimit, keyLimit = agentLimit }: Owner) =>
    Math.min(keyLimit, agentLimit, INSTALLATION_LIMIT / owners.length) / INSTALLATION_LIMIT;
  const waits = await listWaits(db);
  return [
    ...limits.map(({ name, max, most }) =>
      checkLimit({ name: `active runs: ${name}`, measured: [most as number], max, unit: "active" }),
    ),
    ...owners.map((owner) => {
      const { longestMs, fairMs } = waits(owner.uid, shareOf(owner));
      const name = `longest wait: ${owner.name}`;
      return checkLimit({ name, measured: [longestMs], max: MAX_UNFAIRNESS * fairMs, unit: "ms" });
    }),
  ];
}

async function createOwner(server: Outrider, owner: (typeof OWNERS)[number]): Promise<Owner> {
  const { name, agentLimit: max_concurrent_runs, keyLimit } = owner;
  const { uid } = await post<{ uid: string }>(server, "/agent/identities", { name, max_concurrent_runs });
  const limits = keyLimit === undefined ? {} : { limits: { max_concurrent_runs: keyLimit } };
  const created = await post<{ key: string; key_id: string }>(server, "/keys", {
    ...{ name, type: "agent", agent_uid: uid, ...limits },
  });
  return { ...owner, uid, keyId: created.key_id, key: created.key };
}
