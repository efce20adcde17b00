import { randomUUID } from "node:crypto";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, connect as dial, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isFinal } from "@outrider/contract/run-state";
import { readConfig } from "@outrider/server/config";
import { startServer } from "@outrider/server/main";
import { type Db, openDb } from "@outrider/server/store/connection/db";
import { expect, vi } from "vitest";
import { type Running, run as spawnOutrider } from "../../../e2e/process.ts";
import { harnessCache } from "../../../scripts/tests/harness-cache.ts";
import { waitOptions } from "../../../scripts/tests/wait-options.ts";
import { testDatabase } from "../../server/test/server.ts";
import { startWorker, type Worker } from "../src/worker.ts";
import type { WorkerOptions } from "../src/worker-runtime.ts";

/** Test support: the real service with real workers, in this process or as separate processes. */

export interface Event {
  seq: number;
  type: string;
  turn: number;
  attempt: number;
  created_at: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read events of all types
  data: any;
}

export interface Reply {
  status: number;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of all shapes
  body: any;
}

const silent = { info() {}, warn() {}, error() {} };

export type TestInstallation = Awaited<ReturnType<typeof startTestInstallation>>;

export async function startTestInstallation(environment: Record<string, string> = {}) {
  const database = await testDatabase();
  const folder = mkdtempSync(join(tmpdir(), "outrider-test-"));
  // The Unix accounts of sandboxes must be able to traverse the folder.
  chmodSync(folder, 0o711);
  const start = (port: number) =>
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
  let server = await start(0);
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

  const created = await call("POST", "/keys", { body: { name: "workers", type: "worker" } });
  const workerKey: string = created.body.key;
  const newFolder = () => join(folder, "workers", randomUUID());

  const get = async (run: string) => (await call("GET", `/agent/runs/${run}`)).body;
  const events = async (run: string): Promise<Event[]> =>
    (await call("GET", `/agent/runs/${run}/events?limit=1000`)).body.events;

  /** Creates a run whose prompt is a script for the scripted model. */
  async function create(script: string[], body: object = {}): Promise<string> {
    const reply = await call("POST", "/agent/run", { body: { prompt: script.join("\n"), ...body } });
    expect(reply.status).toBe(200);
    return reply.body.run_id;
  }

  /** Waits until the run is in the state and returns it. Fails at once if the run ends in another state. */
  async function until(run: string, state: string) {
    const item = await vi.waitUntil(async () => {
      const now = await get(run);
      // A server rejects requests while its database is slow. Such a response has no state.
      const hasEnded = now.state !== undefined && isFinal(now.state);
      return now.state === state || hasEnded ? now : undefined;
    }, waitOptions);
    expect(`${item.state} ${item.status_message?.message ?? ""}`).toMatch(new RegExp(`^${state} `));
    return item;
  }

  async function startWorkerProcess(name: string, more: string[], program?: string) {
    const dataFolder = newFolder();
    const args = ["worker", "--server", origin, "--name", name, "--data-dir", dataFolder, ...more];
    const running = spawnOutrider(args, { OUTRIDER_WORKER_KEY: workerKey }, program);
    processes.push(running);
    await running.waitForOutput("ready for runs");
    return { ...running, folder: dataFolder };
  }

  return {
    origin,
    databaseUrl: database.url,
    key,
    workerKey,
    /** The server's data folder. */
    dataFolder: join(folder, "server"),
    /** Contains one folder per worker. */
    workersFolder: join(folder, "workers"),
    db,
    call,
    get,
    events,
    create,
    until,

    async followUp(run: string, script: string[], body: object = {}) {
      const reply = await call("POST", `/agent/runs/${run}/followups`, {
        body: { message: script.join("\n"), ...body },
      });
      expect(reply.status).toBe(200);
      return reply.body;
    },

    /** Runs a script in an environment until it succeeds. The sandbox is not kept warm. */
    async runIn(environment_id: string, script: string[]) {
      const id = await create(script, { config: { environment_id, idle_timeout_minutes: 0 } });
      const item = await until(id, "SUCCEEDED");
      const log = await events(id);
      return { id, item, events: log, output: outputOf(log) };
    },

    /** Waits for an event and returns it. */
    event: (run: string, matches: (event: Event) => boolean) =>
      vi.waitUntil(async () => (await events(run)).find(matches), waitOptions),

    async worker(options: Partial<WorkerOptions> = {}): Promise<Worker> {
      const { slots = 8, drainMs = 20_000, url = origin, log = silent, folder = newFolder() } = options;
      const worker = await startWorker({
        name: `worker-${workers.length + 1}`,
        version: "0",
        harnessCache,
        ...options,
        key: workerKey,
        url,
        slots,
        drainMs,
        folder,
        log,
      });
      workers.push(worker);
      return worker;
    },

    /** Starts a worker in a separate process, which can be suspended and killed. */
    workerProcess: (name: string, ...more: string[]) => startWorkerProcess(name, more),

    /** Like `workerProcess`, with another program than bin/outrider. */
    workerProcessOf: (program: string, name: string, ...more: string[]) =>
      startWorkerProcess(name, more, program),

    /** Lists the builds on the workers' disks. */
    bases(): string[] {
      const workersFolder = join(folder, "workers");
      const all = readdirSync(workersFolder).map((worker) =>
        join(workersFolder, worker, "sandboxes", ".bases"),
      );
      return all.flatMap((path) =>
        existsSync(path) ? readdirSync(path).filter((name) => !name.startsWith(".")) : [],
      );
    },

    /** Makes the run's lease expire now, as if its worker had been silent for longer than the lease and the grace. */
    async expireLease(run: string) {
      await db`
        update run_state set lease_expires_at = outrider_now() - interval '1 hour'
        where run_id = ${run} and lease_expires_at is not null`;
    },

    /** Restarts the server on the same port and database. */
    async restart(whileStopped: () => Promise<void> = async () => {}) {
      await server.stop();
      await whileStopped();
      server = await start(Number(new URL(origin).port));
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

/** Returns the output of all commands of a run, or of one command. */
export function outputOf(events: Event[], commandId?: string): string {
  return events
    .filter(({ type }) => type === "command.output")
    .filter(({ data }) => commandId === undefined || data.command_id === commandId)
    .map(({ data }) => data.text)
    .join("");
}

function commandLine(pid: number | string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

/** Lists the processes of this machine whose command line contains the marker. Dead processes have no command line. */
export function processesWith(mark: string): string[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map((pid) => `${pid} ${commandLine(pid)}`).filter((line) => line.includes(mark));
}

/** Waits until the sleep itself runs. Before that, a shell may contain the marker and have done nothing yet. */
export async function waitForSleep(mark: string): Promise<void> {
  await vi.waitUntil(() => processesWith(mark).some((line) => /^\d+ sleep /.test(line)), waitOptions);
}

/** Lists the sandbox watchdogs of all workers. */
export function watchdogPids(): number[] {
  return processesWith("watchdog-process").map((line) => Number.parseInt(line, 10));
}

/** Returns the pid of a worker's supervisor and the pids of the processes that it supervises. */
export function workerPidsOf(supervisor: number): number[] {
  const all = processesWith("worker-process.ts").map((line) => Number.parseInt(line, 10));
  return [supervisor, ...all.filter((pid) => parentOf(pid) === supervisor)];
}

function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return undefined; // The process has exited.
  }
}

/** Returns the pid of the sandbox watchdog of a worker, which is given by its supervisor. */
export function watchdogPidOf(worker: number): number {
  const pids = workerPidsOf(worker);
  const found = watchdogPids().find((pid) => pids.includes(parentOf(pid) ?? 0));
  if (found === undefined) throw new Error(`Worker ${worker} has no watchdog.`);
  return found;
}

let sleepCount = 0;
/** A long sleep with a unique marker by which its processes are found. */
export function longSleep(): { command: string; mark: string } {
  sleepCount += 1;
  const mark = `${600 + sleepCount}.${String(process.pid).padStart(7, "0")}${Date.now() % 1_000_000}`;
  return { command: `sleep ${mark}`, mark };
}

/**
 * Starts a proxy to the server that can drop responses: the request arrives, but its response is lost. It can also cut its
 * clients off, whose connections then stay open, but silent.
 */
export async function startProxy(origin: string) {
  const { hostname, port } = new URL(origin);
  const sockets = new Set<Socket>();
  const proxy = {
    url: "",
    /** Decides whether the response to a request is dropped. Called once per request. */
    isLost: (_request: string): boolean => false,
    lost: 0,
    /** While it is set, nothing is passed on. */
    isCutOff: false,
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
      if (proxy.isCutOff) return;
      const request = /^(GET|POST|PUT) \S+/.exec(data.toString("latin1"))?.[0];
      if (request) isLost = proxy.isLost(request);
      upstream.write(data);
    });
    upstream.on("data", (data) => {
      if (proxy.isCutOff) return;
      if (!isLost) return client.write(data);
      proxy.lost += 1;
      client.destroy();
    });
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  proxy.url = `http://127.0.0.1:${(listener.address() as { port: number }).port}`;
  return proxy;
}
