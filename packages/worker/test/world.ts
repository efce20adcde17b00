import { randomUUID } from "node:crypto";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, connect as dial, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isFinal } from "@outrider/contract/run";
import { readConfig } from "@outrider/server/config";
import { startServer } from "@outrider/server/main";
import { type Db, openDb } from "@outrider/server/store/db";
import { expect, vi } from "vitest";
import { type Running, run as spawnOutrider } from "../../../e2e/process.ts";
import { testDatabase } from "../../server/test/server.ts";
import { startWorker, type Worker, type WorkerOptions } from "../src/worker.ts";

/** The real service with real workers, in process or beside it. */

/** Less than a test may take, so that it says what it waited for. */
export const patience = { timeout: 25_000, interval: 20 };

export interface Event {
  seq: number;
  type: string;
  turn: number;
  attempt: number;
  created_at: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events of every type
  data: any;
}

export interface Reply {
  status: number;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any;
}

const silent = { info() {}, warn() {}, error() {} };

export type World = Awaited<ReturnType<typeof startWorld>>;

export async function startWorld(environment: Record<string, string> = {}) {
  const database = await testDatabase();
  const folder = mkdtempSync(join(tmpdir(), "outrider-world-"));
  // The accounts under which root's sandboxes run have to pass.
  chmodSync(folder, 0o711);
  const begin = (port: number) =>
    startServer(
      readConfig(
        {},
        {
          DATABASE_URL: database.url,
          OUTRIDER_DATA_DIR: join(folder, "server"),
          OUTRIDER_PORT: String(port),
          OUTRIDER_LOG_LEVEL: "silent",
          OUTRIDER_REQUESTS_PER_MINUTE: "1000000",
          OUTRIDER_CREATIONS_PER_MINUTE: "1000000",
          OUTRIDER_FAILURES_PER_MINUTE: "1000000",
          ...environment,
        },
      ),
    );
  let server = await begin(0);
  const { origin } = server;
  const db: Db = openDb(database.url, { connections: 2 });
  const key = readFileSync(join(folder, "server", "key"), "utf8").trim();
  const workers: Worker[] = [];
  const processes: Running[] = [];

  async function call(
    method: string,
    path: string,
    options: { body?: unknown; accept?: string } = {},
  ): Promise<Reply> {
    const { body, accept } = options;
    const response = await fetch(path.startsWith("http") ? path : `${origin}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(accept ? { accept } : {}),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = /[/+]json(;|$)/.test(response.headers.get("content-type") ?? "");
    return { status: response.status, text, body: isJson ? JSON.parse(text) : undefined };
  }

  const made = await call("POST", "/keys", { body: { name: "workers", type: "worker" } });
  const workerKey: string = made.body.key;
  const newFolder = () => join(folder, "workers", randomUUID());

  const get = async (run: string) => (await call("GET", `/agent/runs/${run}`)).body;
  const events = async (run: string): Promise<Event[]> =>
    (await call("GET", `/agent/runs/${run}/events?limit=1000`)).body.events;

  return {
    origin,
    key,
    workerKey,
    /** Each worker has a folder of its own in it. */
    workersFolder: join(folder, "workers"),
    db,
    call,
    get,
    events,

    /** Asks for a run; its lines are the script. */
    async create(script: string[], body: object = {}): Promise<string> {
      const reply = await call("POST", "/agent/run", { body: { prompt: script.join("\n"), ...body } });
      expect(reply.status).toBe(200);
      return reply.body.run_id;
    },

    async followUp(run: string, script: string[], body: object = {}) {
      const reply = await call("POST", `/agent/runs/${run}/followups`, {
        body: { message: script.join("\n"), ...body },
      });
      expect(reply.status).toBe(200);
      return reply.body;
    },

    /** Waits until the run is in the state, and answers it. One that has ended otherwise is not waited for. */
    async until(run: string, state: string) {
      const item = await vi.waitUntil(async () => {
        const now = await get(run);
        return now.state === state || isFinal(now.state) ? now : undefined;
      }, patience);
      expect(`${item.state} ${item.status_message?.message ?? ""}`).toMatch(new RegExp(`^${state} `));
      return item;
    },

    /** Waits for an event, and answers it. */
    event: (run: string, isIt: (event: Event) => boolean) =>
      vi.waitUntil(async () => (await events(run)).find(isIt), patience),

    async worker(options: Partial<WorkerOptions> = {}): Promise<Worker> {
      const { slots = 8, drainMs = 20_000, url = origin } = options;
      const worker = await startWorker({
        name: `worker-${workers.length + 1}`,
        version: "0",
        ...options,
        key: workerKey,
        url,
        slots,
        drainMs,
        folder: newFolder(),
        log: silent,
      });
      workers.push(worker);
      return worker;
    },

    /** A worker that can be stopped and killed. */
    async workerProcess(name: string, ...more: string[]): Promise<Running & { folder: string }> {
      const own = newFolder();
      const args = ["worker", "--server", origin, "--name", name, "--data-dir", own, ...more];
      const running = spawnOutrider(args, { OUTRIDER_WORKER_KEY: workerKey });
      processes.push(running);
      await running.says("ready for runs");
      return { ...running, folder: own };
    },

    /** The builds that lie on the workers' disks. */
    bases(): string[] {
      const own = join(folder, "workers");
      const all = readdirSync(own).map((worker) => join(own, worker, "sandboxes", ".bases"));
      return all.flatMap((path) =>
        existsSync(path) ? readdirSync(path).filter((name) => !name.startsWith(".")) : [],
      );
    },

    /** On the same port and the same database. */
    async restart() {
      await server.stop();
      server = await begin(Number(new URL(origin).port));
    },

    async stop() {
      await Promise.all(workers.map((worker) => worker.drain()));
      for (const { pid } of processes) if (commandLine(pid).includes(folder)) process.kill(pid, "SIGKILL");
      await Promise.all(processes.map(({ ended }) => ended));
      await server.stop();
      await db.end();
      await database.drop();
      rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}

function commandLine(pid: number | string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

/** The processes of this machine whose command line holds the mark. What has died has none. */
export function processesWith(mark: string): string[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map((pid) => `${pid} ${commandLine(pid)}`).filter((line) => line.includes(mark));
}

/** Until the command itself sleeps: before that, a shell may carry its text and have done nothing yet. */
export async function asleep(mark: string): Promise<void> {
  await vi.waitUntil(() => processesWith(mark).some((line) => /^\d+ sleep /.test(line)), patience);
}

/** The processes that end the sandboxes of workers which cannot. */
export function switches(): number[] {
  return processesWith("switch-process").map((line) => Number.parseInt(line, 10));
}

export function switchOf(worker: number): number {
  const parentOf = (pid: number) => {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  };
  const found = switches().find((pid) => parentOf(pid) === worker);
  if (found === undefined) throw new Error(`Worker ${worker} has no switch.`);
  return found;
}

let marks = 0;
/** A long sleep that is like no other, and by which its processes are found. */
export function longSleep(): { command: string; mark: string } {
  marks += 1;
  const mark = `${600 + marks}.${String(process.pid).padStart(7, "0")}${Date.now() % 1_000_000}`;
  return { command: `sleep ${mark}`, mark };
}

/** A way to a server that breaks off where it is told to: the request has arrived, its answer is lost. */
export async function startProxy(origin: string) {
  const { hostname, port } = new URL(origin);
  const sockets = new Set<Socket>();
  const proxy = {
    url: "",
    /** Whether the answer to this request is lost; asked once for each. */
    isLost: (_request: string): boolean => false,
    lost: 0,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
  const listener = createServer((client) => {
    const upstream = dial(Number(port), hostname);
    let isLost = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on("data", (data) => {
      const request = /^(GET|POST|PUT) \S+/.exec(data.toString("latin1"))?.[0];
      if (request) isLost = proxy.isLost(request);
      upstream.write(data);
    });
    upstream.on("data", (data) => {
      if (!isLost) return client.write(data);
      proxy.lost += 1;
      client.destroy();
    });
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  proxy.url = `http://127.0.0.1:${(listener.address() as { port: number }).port}`;
  return proxy;
}
