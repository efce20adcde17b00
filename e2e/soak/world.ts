import { randomBytes, randomUUID } from "node:crypto";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Link } from "../torture/link.ts";
import { Part } from "../torture/part.ts";
import { within } from "../torture/within.ts";
import { freePort } from "../torture/world.ts";
import { Client } from "./client.ts";
import { type Pair, startPair } from "./pair.ts";

export const SLOTS = 3;
const PATIENCE_MS = 60_000;
const root = join(import.meta.dirname, "..", "..");
const torture = join(root, "e2e", "torture");

/** Two servers and two workers as an operator runs them, before one PostgreSQL with a standby behind one address. */
export interface World {
  folder: string;
  /** Where the steps' files lie, one for each execution. */
  lives: string;
  pair: Pair;
  /** The address of the database, which moves with a fail-over. */
  address: Link;
  servers: Part[];
  workers: Part[];
  client: Client;
  stopWorkers(): Promise<void>;
  stop(options: { keep: boolean }): Promise<void>;
}

export async function startWorld(): Promise<World> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "outrider-soak-")));
  // The accounts under which root's PostgreSQL and sandboxes run have to pass.
  chmodSync(folder, 0o711);
  const outside = join(folder, "outside");
  const lives = join(outside, "lives");
  for (const one of [outside, lives]) mkdirSync(one);
  chmodSync(lives, 0o777);
  copyFileSync(join(torture, "step.sh"), join(outside, "step"));
  chmodSync(join(outside, "step"), 0o755);

  const pair = await startPair(folder);
  const address = await Link.open({ path: pair.socket() });
  const { user, password, database } = pair.connection();
  const environment = {
    DATABASE_URL: `postgres://${user}:${encodeURIComponent(password)}@127.0.0.1:${address.port}/${database}`,
    // One for both: they share the files of runs.
    OUTRIDER_DATA_DIR: join(folder, "servers"),
    OUTRIDER_MASTER_KEY: randomBytes(32).toString("base64"),
    OUTRIDER_WORKERS: "0",
    // More than one key may ask for: the load is what counts here.
    OUTRIDER_REQUESTS_PER_MINUTE: "1000000",
    OUTRIDER_CREATIONS_PER_MINUTE: "1000000",
  };
  const servers: Part[] = [];
  const urls: string[] = [];
  // The first start makes the database's tables and the first key; the other finds them.
  for (const name of ["server 1", "server 2"]) {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const part = new Part({
      name,
      command: [join(root, "bin/outrider"), "serve"],
      environment: { ...environment, OUTRIDER_PORT: String(port) },
      log: join(folder, `${name}.log`),
      ready: "Outrider listens on",
    });
    part.start();
    await within(PATIENCE_MS, `${name} is ready`, async () => (await fetch(`${url}/readyz`)).ok);
    servers.push(part);
    urls.push(url);
  }
  const client = new Client(urls, readFileSync(join(folder, "servers", "key"), "utf8").trim());
  const workerKey = await makeWorkerKey(client);
  const workers = ["worker 1", "worker 2"].map((name, index) => {
    const own = join(folder, name.replace(" ", "-"));
    const options = { url: urls[index], name, slots: SLOTS, folder: own, drainMs: 5_000, outside };
    const part = new Part({
      name,
      command: [process.execPath, join(torture, "worker.ts"), JSON.stringify(options)],
      environment: { OUTRIDER_WORKER_KEY: workerKey },
      log: join(folder, `${name}.log`),
      ready: "ready for runs",
    });
    part.start();
    return part;
  });
  for (const worker of workers)
    await within(PATIENCE_MS, `${worker.name} is ready`, async () => worker.isReady);

  const stopAll = (parts: Part[]) => Promise.all(parts.map((part) => part.stop(15_000)));
  return {
    ...{ folder, lives, pair, address, servers, workers, client },
    async stopWorkers() {
      await stopAll(workers);
    },
    async stop({ keep }) {
      client.isDone = true;
      await stopAll([...workers, ...servers]);
      address.close();
      await pair.stop();
      if (!keep) rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}

async function makeWorkerKey(client: Client): Promise<string> {
  const { status, body } = await client.insist({
    ...{ name: "key", method: "POST", path: "/keys", idempotencyKey: randomUUID() },
    body: { name: "workers", type: "worker" },
  });
  if (status !== 201) throw new Error(`POST /keys: ${JSON.stringify(body)}`);
  return body.key;
}
