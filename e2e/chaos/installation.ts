import { randomBytes, randomUUID } from "node:crypto";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../scripts/tests/free-port.ts";
import { Client } from "./client.ts";
import { type Database, startDatabase } from "./database.ts";
import { type Owner, type ProxyName, targets } from "./plan.ts";
import type { Pods } from "./pods.ts";
import { SupervisedProcess } from "./supervised-process.ts";
import { TcpProxy } from "./tcp-proxy.ts";
import { waitFor } from "./wait-for.ts";

/**
 * Two servers and three workers that share one PostgreSQL. Every connection between them, and from clients to servers,
 * passes through a proxy that a fault can interrupt.
 */

export const policy = { leaseMs: 1_500, graceMs: 1_000, maxAttempts: 6, maxConcurrentRuns: 6, slots: 3 };
export const limits: Record<Exclude<Owner, "user"> | "environment", number> = {
  "limited key": 2,
  "agent of two": 2,
  "agent of one": 1,
  environment: 2,
};

const root = join(import.meta.dirname, "..", "..");
/** On a busy machine, several processes start at once. */
const START_TIMEOUT_MS = 180_000;

export interface Installation {
  folder: string;
  /** Contains one file for each execution, which its steps write. */
  stepFolder: string;
  database: Database;
  client: Client;
  processes: Record<string, SupervisedProcess>;
  proxies: Record<ProxyName, TcpProxy>;
  keys: Record<Owner, string>;
  environmentId: string;
  /** Set if pods are the sandboxes. */
  pods: Pods | undefined;
  /** Connects a worker to the other server. */
  redirectWorker(worker: string): void;
  stopWorkers(): Promise<void>;
  stop(options: { keep: boolean }): Promise<void>;
}

export interface RoundOptions {
  /** The settings of the servers. */
  settings?: Record<string, string>;
  /** Where the sandboxes are. Default: on this machine. */
  pods?: Pods;
}

export async function startInstallation({ settings, pods }: RoundOptions): Promise<Installation> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "outrider-chaos-")));
  // PostgreSQL and sandboxes run under other accounts when the test runs as root, and need to traverse this folder.
  chmodSync(folder, 0o711);
  // Sandboxes mount this folder as /outside.
  const outside = pods?.outside ?? join(folder, "outside");
  const stepFolder = join(outside, "steps");
  rmSync(stepFolder, { recursive: true, force: true });
  mkdirSync(stepFolder, { recursive: true });
  chmodSync(stepFolder, 0o777);
  copyFileSync(join(import.meta.dirname, "step.sh"), join(outside, "step"));
  chmodSync(join(outside, "step"), 0o755);

  const database = await startDatabase(join(folder, "database"));
  const processes: Record<string, SupervisedProcess> = {};
  const proxies = {} as Record<ProxyName, TcpProxy>;
  const ports: Record<string, number> = {};
  const { user, password, database: name } = database.connection;
  const masterKey = randomBytes(32).toString("base64");
  for (const server of targets.servers) {
    const proxy = await TcpProxy.open({ path: database.socket });
    proxies[server] = proxy;
    const port = await freePort();
    ports[server] = port;
    proxies[`clients of ${server}`] = await TcpProxy.open({ host: "127.0.0.1", port });
    processes[server] = new SupervisedProcess({
      name: server,
      command: [join(root, "bin/outrider"), "serve"],
      environment: {
        DATABASE_URL: `postgres://${user}:${encodeURIComponent(password)}@127.0.0.1:${proxy.port}/${name}`,
        OUTRIDER_PORT: String(port),
        // Both servers share the files of runs.
        OUTRIDER_DATA_DIR: join(folder, "servers"),
        OUTRIDER_MASTER_KEY: masterKey,
        OUTRIDER_WORKERS: "0",
        OUTRIDER_REQUESTS_PER_MINUTE: "1000000",
        OUTRIDER_CREATIONS_PER_MINUTE: "1000000",
        OUTRIDER_LEASE_SECONDS: String(policy.leaseMs / 1_000),
        OUTRIDER_LEASE_GRACE_SECONDS: String(policy.graceMs / 1_000),
        OUTRIDER_MAX_ATTEMPTS: String(policy.maxAttempts),
        OUTRIDER_MAX_CONCURRENT_RUNS: String(policy.maxConcurrentRuns),
        ...settings,
      },
      log: join(folder, `${server}.log`),
      ready: "Outrider is listening on",
    });
  }
  const addressOf = (server: string) => ({ host: "127.0.0.1", port: ports[server] as number });
  const serverUrls = targets.servers.map((server) => proxies[`clients of ${server}`].url);
  // The first server creates the tables and the first key, so the second starts only when the first is ready.
  for (const [index, server] of targets.servers.entries()) {
    processes[server]?.start();
    await waitFor(
      START_TIMEOUT_MS,
      `${server} is ready`,
      async () => (await fetch(`${serverUrls[index]}/readyz`)).ok,
    );
  }
  const client = new Client(serverUrls);
  const admin = readFileSync(join(folder, "servers", "key"), "utf8").trim();
  const { workerKey, ...access } = await createAccess(client, admin);

  const serverOf: Record<string, number> = {};
  for (const [index, worker] of targets.workers.entries()) {
    serverOf[worker] = index % targets.servers.length;
    const proxy = await TcpProxy.open(addressOf(targets.servers[serverOf[worker]] as string));
    proxies[worker] = proxy;
    const workerFolder = join(folder, worker.replace(" ", "-"));
    const options = {
      url: proxy.url,
      name: worker,
      slots: policy.slots,
      folder: workerFolder,
      drainMs: 500,
      ...(pods
        ? {
            sandbox: "kubernetes",
            kubernetes: {
              ...{
                kubeconfig: pods.cluster.kubeconfig,
                systemImage: pods.systemImage,
                podFile: pods.podFile,
              },
            },
          }
        : { mounts: [{ source: outside, target: "/outside", writable: true }] }),
    };
    processes[worker] = new SupervisedProcess({
      name: worker,
      command: [process.execPath, join(import.meta.dirname, "worker.ts"), JSON.stringify(options)],
      environment: { OUTRIDER_WORKER_KEY: workerKey },
      log: join(folder, `${worker}.log`),
      ready: "ready for runs",
    });
    processes[worker].start();
  }

  for (const worker of targets.workers) {
    await waitFor(START_TIMEOUT_MS, `${worker} is ready`, async () => processes[worker]?.isReady ?? false);
  }

  const stopAll = (names: readonly string[]) =>
    Promise.all(names.map((name) => processes[name]?.stop(15_000)));
  return {
    ...{ folder, stepFolder, database, client, processes, proxies, pods, ...access },
    redirectWorker(worker) {
      serverOf[worker] = ((serverOf[worker] as number) + 1) % targets.servers.length;
      proxies[worker as ProxyName].redirect(addressOf(targets.servers[serverOf[worker]] as string));
    },
    async stopWorkers() {
      await stopAll(targets.workers);
    },
    async stop({ keep }) {
      client.stop();
      await stopAll([...targets.workers, ...targets.servers]);
      for (const proxy of Object.values(proxies)) proxy.close();
      await database.stop();
      if (!keep) rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}

/** Creates the keys, identities and environment of the plan, with their limits. */
async function createAccess(client: Client, admin: string) {
  const create = async (path: string, body: object) => {
    const reply = await client.sendUntilAnswered({ path, key: admin, idempotencyKey: randomUUID(), body });
    if (reply.status !== 201) throw new Error(`POST ${path}: ${JSON.stringify(reply.body)}`);
    return reply.body;
  };
  const agentKey = async (owner: "agent of one" | "agent of two") => {
    const { uid } = await create("/agent/identities", { name: owner, max_concurrent_runs: limits[owner] });
    return (await create("/keys", { name: owner, type: "agent", agent_uid: uid })).key as string;
  };
  const limited = { max_concurrent_runs: limits["limited key"] };
  const environment = { name: "narrow", max_concurrent_runs: limits.environment };
  return {
    workerKey: (await create("/keys", { name: "workers", type: "worker" })).key as string,
    environmentId: (await create("/agent/environments", environment)).environment_id as string,
    keys: {
      user: admin,
      "limited key": (await create("/keys", { name: "limited", type: "personal", limits: limited })).key,
      "agent of one": await agentKey("agent of one"),
      "agent of two": await agentKey("agent of two"),
    } as Record<Owner, string>,
  };
}
