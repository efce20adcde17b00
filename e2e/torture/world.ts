import { randomBytes, randomUUID } from "node:crypto";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "./client.ts";
import { type Database, startDatabase } from "./database.ts";
import { Link } from "./link.ts";
import { Part } from "./part.ts";
import { type LinkName, type Owner, targets } from "./plan.ts";
import { within } from "./within.ts";

/** Two servers and three workers before one PostgreSQL, with a link wherever one speaks to another. */

export const rules = { leaseMs: 1_500, graceMs: 1_000, attempts: 6, atOnce: 6, slots: 3 };
export const limits: Record<Exclude<Owner, "person"> | "environment", number> = {
  "limited key": 2,
  "agent of two": 2,
  "agent of one": 1,
  environment: 2,
};

const root = join(import.meta.dirname, "..", "..");

export interface World {
  folder: string;
  /** Where the steps' files lie, one for each execution. */
  lives: string;
  database: Database;
  client: Client;
  parts: Record<string, Part>;
  links: Record<LinkName, Link>;
  keys: Record<Owner, string>;
  environmentId: string;
  /** Leads a worker to the other server. */
  move(worker: string): void;
  stopWorkers(): Promise<void>;
  stop(options: { keep: boolean }): Promise<void>;
}

export async function startWorld(): Promise<World> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "outrider-torture-")));
  // The accounts under which root's PostgreSQL and sandboxes run have to pass.
  chmodSync(folder, 0o711);
  const outside = join(folder, "outside");
  const lives = join(outside, "lives");
  for (const one of [outside, lives]) mkdirSync(one);
  chmodSync(lives, 0o777);
  copyFileSync(join(import.meta.dirname, "step.sh"), join(outside, "step"));
  chmodSync(join(outside, "step"), 0o755);

  const database = await startDatabase(join(folder, "database"));
  const parts: Record<string, Part> = {};
  const links = {} as Record<LinkName, Link>;
  const ports: Record<string, number> = {};
  const { user, password, database: name } = database.connection;
  const masterKey = randomBytes(32).toString("base64");
  for (const server of targets.servers) {
    const link = await Link.open({ path: database.socket });
    links[server] = link;
    const port = await freePort();
    ports[server] = port;
    links[`clients of ${server}`] = await Link.open({ host: "127.0.0.1", port });
    parts[server] = new Part({
      name: server,
      command: [join(root, "bin/outrider"), "serve"],
      environment: {
        DATABASE_URL: `postgres://${user}:${encodeURIComponent(password)}@127.0.0.1:${link.port}/${name}`,
        OUTRIDER_PORT: String(port),
        // One for both: they share the files of runs.
        OUTRIDER_DATA_DIR: join(folder, "servers"),
        OUTRIDER_MASTER_KEY: masterKey,
        OUTRIDER_WORKERS: "0",
        OUTRIDER_REQUESTS_PER_MINUTE: "1000000",
        OUTRIDER_CREATIONS_PER_MINUTE: "1000000",
        OUTRIDER_LEASE_SECONDS: String(rules.leaseMs / 1_000),
        OUTRIDER_LEASE_GRACE_SECONDS: String(rules.graceMs / 1_000),
        OUTRIDER_MAX_ATTEMPTS: String(rules.attempts),
        OUTRIDER_MAX_CONCURRENT_RUNS: String(rules.atOnce),
      },
      log: join(folder, `${server}.log`),
      ready: "Outrider listens on",
    });
  }
  const at = (server: string) => ({ host: "127.0.0.1", port: ports[server] as number });
  const servers = targets.servers.map((server) => links[`clients of ${server}`].url);
  // The first start makes the database's tables and the first key; the other finds them.
  for (const [index, server] of targets.servers.entries()) {
    parts[server]?.start();
    await within(30_000, `${server} is ready`, async () => (await fetch(`${servers[index]}/readyz`)).ok);
  }
  const client = new Client(servers);
  const admin = readFileSync(join(folder, "servers", "key"), "utf8").trim();
  const { workerKey, ...access } = await makeAccess(client, admin);

  const leadsTo: Record<string, number> = {};
  for (const [index, worker] of targets.workers.entries()) {
    leadsTo[worker] = index % targets.servers.length;
    const link = await Link.open(at(targets.servers[leadsTo[worker]] as string));
    links[worker] = link;
    const own = join(folder, worker.replace(" ", "-"));
    const options = { url: link.url, name: worker, slots: rules.slots, folder: own, drainMs: 500, outside };
    parts[worker] = new Part({
      name: worker,
      command: [process.execPath, join(import.meta.dirname, "worker.ts"), JSON.stringify(options)],
      environment: { OUTRIDER_WORKER_KEY: workerKey },
      log: join(folder, `${worker}.log`),
      ready: "ready for runs",
    });
    parts[worker].start();
  }

  for (const worker of targets.workers) {
    await within(30_000, `${worker} is ready`, async () => parts[worker]?.isReady ?? false);
  }

  const stopAll = (names: readonly string[]) => Promise.all(names.map((each) => parts[each]?.stop(15_000)));
  return {
    ...{ folder, lives, database, client, parts, links, ...access },
    move(worker) {
      leadsTo[worker] = ((leadsTo[worker] as number) + 1) % targets.servers.length;
      links[worker as LinkName].turnTo(at(targets.servers[leadsTo[worker]] as string));
    },
    async stopWorkers() {
      await stopAll(targets.workers);
    },
    async stop({ keep }) {
      client.stop();
      await stopAll([...targets.workers, ...targets.servers]);
      for (const link of Object.values(links)) link.close();
      await database.stop();
      if (!keep) rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}

/** Everybody who will ask for runs, with the limits that they have. */
async function makeAccess(client: Client, admin: string) {
  const make = async (path: string, body: object) => {
    const reply = await client.insist({ path, key: admin, idempotencyKey: randomUUID(), body });
    if (reply.status !== 201) throw new Error(`POST ${path}: ${JSON.stringify(reply.body)}`);
    return reply.body;
  };
  const agentKey = async (owner: "agent of one" | "agent of two") => {
    const { uid } = await make("/agent/identities", { name: owner, max_concurrent_runs: limits[owner] });
    return (await make("/keys", { name: owner, type: "agent", agent_uid: uid })).key as string;
  };
  const limited = { max_concurrent_runs: limits["limited key"] };
  const environment = { name: "narrow", max_concurrent_runs: limits.environment };
  return {
    workerKey: (await make("/keys", { name: "workers", type: "worker" })).key as string,
    environmentId: (await make("/agent/environments", environment)).environment_id as string,
    keys: {
      person: admin,
      "limited key": (await make("/keys", { name: "limited", type: "personal", limits: limited })).key,
      "agent of one": await agentKey("agent of one"),
      "agent of two": await agentKey("agent of two"),
    } as Record<Owner, string>,
  };
}

export async function freePort(): Promise<number> {
  const server = createServer();
  const { promise, resolve } = Promise.withResolvers<number>();
  server.listen(0, "127.0.0.1", () => resolve((server.address() as { port: number }).port));
  const port = await promise;
  await new Promise((closed) => server.close(closed));
  return port;
}
