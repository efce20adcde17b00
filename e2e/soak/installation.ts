import { randomBytes, randomUUID } from "node:crypto";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../scripts/tests/free-port.ts";
import { SupervisedProcess } from "../chaos/supervised-process.ts";
import { TcpProxy } from "../chaos/tcp-proxy.ts";
import { waitFor } from "../chaos/wait-for.ts";
import { Client } from "./client.ts";
import { type ReplicatedPostgres, startReplicatedPostgres } from "./replicated-postgres.ts";

export const SLOTS = 3;
const READY_TIMEOUT_MS = 60_000;
const root = join(import.meta.dirname, "..", "..");
const chaos = join(root, "e2e", "chaos");

/** Two servers and two workers, and a PostgreSQL and its standby behind one address. */
export interface Installation {
  folder: string;
  /** Contains one file for each execution, which its steps write. */
  stepFolder: string;
  postgres: ReplicatedPostgres;
  /** The address of the database, which a failover redirects to the standby. */
  address: TcpProxy;
  servers: SupervisedProcess[];
  workers: SupervisedProcess[];
  client: Client;
  stopWorkers(): Promise<void>;
  stop(options: { keep: boolean }): Promise<void>;
}

export async function startInstallation(): Promise<Installation> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "outrider-soak-")));
  // PostgreSQL and sandboxes run under other accounts when the test runs as root, and need to traverse this folder.
  chmodSync(folder, 0o711);
  // Sandboxes mount this folder as /outside.
  const outside = join(folder, "outside");
  const stepFolder = join(outside, "steps");
  for (const path of [outside, stepFolder]) mkdirSync(path);
  chmodSync(stepFolder, 0o777);
  copyFileSync(join(chaos, "step.sh"), join(outside, "step"));
  chmodSync(join(outside, "step"), 0o755);

  const postgres = await startReplicatedPostgres(folder);
  const address = await TcpProxy.open({ path: postgres.socket() });
  const { user, password, database } = postgres.connection();
  const environment = {
    DATABASE_URL: `postgres://${user}:${encodeURIComponent(password)}@127.0.0.1:${address.port}/${database}`,
    // Both servers share the files of runs.
    OUTRIDER_DATA_DIR: join(folder, "servers"),
    OUTRIDER_MASTER_KEY: randomBytes(32).toString("base64"),
    OUTRIDER_WORKERS: "0",
    // The load must not run into rate limits.
    OUTRIDER_REQUESTS_PER_MINUTE: "1000000",
    OUTRIDER_CREATIONS_PER_MINUTE: "1000000",
  };
  const servers: SupervisedProcess[] = [];
  const urls: string[] = [];
  // The first server creates the tables and the first key, so the second starts only when the first is ready.
  for (const name of ["server 1", "server 2"]) {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const child = new SupervisedProcess({
      name,
      command: [join(root, "bin/outrider"), "serve"],
      environment: { ...environment, OUTRIDER_PORT: String(port) },
      log: join(folder, `${name}.log`),
      ready: "Outrider is listening on",
    });
    child.start();
    await waitFor(READY_TIMEOUT_MS, `${name} is ready`, async () => (await fetch(`${url}/readyz`)).ok);
    servers.push(child);
    urls.push(url);
  }
  const client = new Client(urls, readFileSync(join(folder, "servers", "key"), "utf8").trim());
  const workerKey = await createWorkerKey(client);
  const workers = ["worker 1", "worker 2"].map((name, index) => {
    const workerFolder = join(folder, name.replace(" ", "-"));
    const options = { url: urls[index], name, slots: SLOTS, folder: workerFolder, drainMs: 5_000, outside };
    const child = new SupervisedProcess({
      name,
      command: [process.execPath, join(chaos, "worker.ts"), JSON.stringify(options)],
      environment: { OUTRIDER_WORKER_KEY: workerKey },
      log: join(folder, `${name}.log`),
      ready: "ready for runs",
    });
    child.start();
    return child;
  });
  for (const worker of workers)
    await waitFor(READY_TIMEOUT_MS, `${worker.name} is ready`, async () => worker.isReady);

  const stopAll = (processes: SupervisedProcess[]) =>
    Promise.all(processes.map((child) => child.stop(15_000)));
  return {
    ...{ folder, stepFolder, postgres, address, servers, workers, client },
    async stopWorkers() {
      await stopAll(workers);
    },
    async stop({ keep }) {
      client.isStopped = true;
      await stopAll([...workers, ...servers]);
      address.close();
      await postgres.stop();
      if (!keep) rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}

async function createWorkerKey(client: Client): Promise<string> {
  const { status, body } = await client.sendUntilAnswered({
    ...{ name: "key", method: "POST", path: "/keys", idempotencyKey: randomUUID() },
    body: { name: "workers", type: "worker" },
  });
  if (status !== 201) throw new Error(`POST /keys: ${JSON.stringify(body)}`);
  return body.key;
}
