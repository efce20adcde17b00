import { randomUUID } from "node:crypto";
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isFinal } from "@outrider/contract/run-state";
import {
  call,
  keyOf,
  makeDataDir,
  outrider,
  type Reply,
  removeDataDir,
  type Serving,
  serve,
} from "../process.ts";
import { type HostileProviders, startHostileProviders } from "./providers.ts";
import { type HostileWorker, startHostileWorker } from "./worker.ts";

/** Every run must end within this time. */
const END_MS = 720_000;
/** How long a request is repeated while the server is busy. */
const REQUEST_MS = 180_000;

interface Event {
  seq: number;
  type: string;
  // biome-ignore lint/suspicious/noExplicitAny: events have many shapes
  data: any;
}

/** A run that has ended. */
export interface EndedRun {
  run_id: string;
  state: string;
  attempts: number;
  /** The tools that the run has called. */
  calledTools: string[];
  /** The error code and message of a failed run. Otherwise the state, the tool results and the output of commands. */
  summary: string;
}

export interface HostileInstallation {
  worker: HostileWorker;
  providers: HostileProviders;
  /** The folder that contains repositories. */
  repositories: string;
  /** A key of the administrator, who creates environments. */
  adminKey: string;
  /** Creates a user and returns a key of that user. */
  addUser(name: string): Promise<string>;
  request(key: string, method: string, path: string, body?: unknown): Promise<Reply["body"]>;
  /** Creates a run and waits until it has ended. */
  execute(key: string, run: { prompt?: string; config?: object }): Promise<EndedRun>;
  stop(): Promise<void>;
}

/** Starts a server with hostile models, and one worker with this many slots. */
export async function startHostileInstallation({ slots }: { slots: number }): Promise<HostileInstallation> {
  const dataDir = makeDataDir();
  const repositories = join(dataDir, "repositories");
  mkdirSync(repositories);
  const providers = await startHostileProviders();
  const modelsFile = join(dataDir, "models.json");
  const hostile = { type: "openai-compatible", base_url: providers.modelUrl };
  writeFileSync(modelsFile, JSON.stringify({ default_model_id: "scripted", providers: { hostile } }));
  const server = await serve({
    dataDir: join(dataDir, "server"),
    environment: {
      OUTRIDER_MODELS: modelsFile,
      OUTRIDER_WORKERS: "0",
    },
  });
  const admin = keyOf(server.dataDir);
  const { key } = await request(server, admin, "POST", "/keys", { name: "worker", type: "worker" });
  const worker = await startHostileWorker({
    url: server.origin,
    key,
    slots,
    folder: join(dataDir, "worker"),
    repositories: realpathSync(repositories),
    allowedAddresses: providers.mcpAddress,
  });
  return {
    adminKey: admin,
    worker,
    providers,
    repositories: realpathSync(repositories),
    async addUser(name) {
      const args = ["admin", "add-user", `${name}@example.com`, "--name", name];
      const { code, stdout, stderr } = await outrider(args, { OUTRIDER_DATA_DIR: server.dataDir });
      if (code !== 0) throw new Error(`Cannot add the user ${name}: ${stderr}`);
      return stdout.trim();
    },
    request: (...args) => request(server, ...args),
    execute: (...args) => execute(server, ...args),
    async stop() {
      await worker.end("SIGTERM");
      await server.end("SIGTERM");
      providers.stop();
      removeDataDir(dataDir);
    },
  };
}

async function execute(
  server: Serving,
  key: string,
  { prompt, config }: { prompt?: string; config?: object },
): Promise<EndedRun> {
  const { run_id } = await request(server, key, "POST", "/agent/run", {
    ...(prompt === undefined ? {} : { prompt }),
    config: { idle_timeout_minutes: 0, ...config },
    limits: { timeout_minutes: 4 },
  });
  for (const deadline = performance.now() + END_MS; performance.now() < deadline; await pause(500)) {
    const { state, status_message, attempts } = await request(server, key, "GET", `/agent/runs/${run_id}`);
    if (!isFinal(state)) continue;
    const events = await readEvents(server, key, run_id);
    const dataOf = (type: string) => events.filter((event) => event.type === type).map(({ data }) => data);
    const { error_code, message } = status_message ?? {};
    const output = [
      ...dataOf("tool.returned").map((data) => data.output),
      ...dataOf("command.output").map((data) => data.text),
    ].join("\n");
    return {
      run_id,
      state,
      attempts,
      calledTools: dataOf("tool.called").map(({ tool }) => tool),
      summary: error_code ? `${error_code}: ${message}` : `${state}: ${output}`,
    };
  }
  throw new Error(`${run_id} has not ended: ${prompt} ${JSON.stringify(config)}`);
}

async function readEvents(server: Serving, key: string, run_id: string): Promise<Event[]> {
  const all: Event[] = [];
  for (;;) {
    const after = all.at(-1)?.seq ?? 0;
    const path = `/agent/runs/${run_id}/events?limit=1000&after=${after}`;
    const { events } = await request(server, key, "GET", path);
    if (events.length === 0) return all;
    all.push(...events);
  }
}

/** Repeats a request that the busy server rejects or does not answer in time. */
async function request(server: Serving, key: string, method: string, path: string, body?: unknown) {
  const options = {
    key,
    headers: method === "POST" ? { "idempotency-key": randomUUID() } : {},
    ...(body === undefined ? {} : { body }),
  };
  for (const deadline = performance.now() + REQUEST_MS; ; await pause(500)) {
    const reply = await call(method, `${server.origin}/api/v1${path}`, options).catch(
      (error: Error) => error,
    );
    const isTemporary = reply instanceof Error || reply.status === 429 || reply.status === 503;
    if (isTemporary && performance.now() < deadline) continue;
    if (reply instanceof Error) throw reply;
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`);
    return reply.body;
  }
}
