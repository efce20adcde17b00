import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Publication } from "@outrider/contract/publication";
import type { PublishPolicy } from "@outrider/contract/publish-policy";
import type { PullRequest } from "@outrider/contract/pull-request";
import { isFinal } from "@outrider/contract/run-state";
import { type Db, openDb } from "@outrider/server/store/connection/db";
import { expect, vi } from "vitest";
import { testDatabase } from "../../packages/server/test/server.ts";
import { makePrivateCa } from "../../packages/worker/test/egress/private-ca.ts";
import { type Event, type Reply, workerPidsOf } from "../../packages/worker/test/installation.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import {
  call,
  keyOf,
  makeDataDir,
  type Running,
  removeDataDir,
  run,
  type Serving,
  serve,
} from "../process.ts";
import { Gate } from "./gate.ts";

/**
 * A server and a worker in processes of their own, which share a database with each other and the test. Their requests to
 * each other and to a forge pass through gates, so that a test can kill a process at a step that it chooses.
 */

export interface PublishingOptions {
  /** Address of the forge, which must be http. Outrider reaches it through a gate with TLS. */
  forgeUrl: string;
  environment?: Record<string, string>;
}

export interface NewRun {
  environment: string;
  script: string[];
  title?: string;
  publish?: string;
  /** How long the sandbox stays open after the turn. */
  idleMinutes?: number;
}

/** The name of the repository's folder in the workspace. */
export const CHECKOUT = "api";

export class PublishingInstallation {
  /** Between Outrider and the forge. */
  readonly forge: Gate;
  /** Between workers and the server. */
  readonly gate: Gate;
  readonly db: Db;
  readonly folder: string;
  readonly #settings: Record<string, string>;
  readonly #database: Awaited<ReturnType<typeof testDatabase>>;
  readonly #servers: Serving[] = [];
  readonly #workers: (Running & { folder: string })[] = [];
  #workerKey = "";

  private constructor(parts: {
    forge: Gate;
    gate: Gate;
    folder: string;
    settings: Record<string, string>;
    database: Awaited<ReturnType<typeof testDatabase>>;
  }) {
    this.forge = parts.forge;
    this.gate = parts.gate;
    this.folder = parts.folder;
    this.#settings = parts.settings;
    this.#database = parts.database;
    this.db = openDb(parts.database.url, { connections: 2 });
  }

  static async start({ forgeUrl, environment = {} }: PublishingOptions): Promise<PublishingInstallation> {
    const folder = makeDataDir();
    const { caFile, tls } = makePrivateCa(folder, []);
    const forge = await Gate.open({
      target: forgeUrl,
      tls: { key: tls.key.toString(), cert: tls.cert.toString() },
    });
    const gate = await Gate.open({ target: "http://127.0.0.1:9" });
    const database = await testDatabase();
    const settings = { OUTRIDER_EXTRA_CA: caFile, OUTRIDER_ALLOW_ADDRESSES: "127.0.0.1", ...environment };
    const installation = new PublishingInstallation({ forge, gate, folder, settings, database });
    await installation.startServer();
    const { body } = await installation.call("POST", "/keys", { name: "workers", type: "worker" });
    installation.#workerKey = body.key;
    await installation.startWorker();
    return installation;
  }

  get key(): string {
    return keyOf(join(this.folder, "server"));
  }

  async startServer(): Promise<void> {
    const server = await serve({
      dataDir: join(this.folder, "server"),
      environment: { ...this.#settings, DATABASE_URL: this.#database.url, OUTRIDER_WORKERS: "0" },
    });
    this.#servers.push(server);
    this.gate.target = server.origin;
  }

  async startWorker(): Promise<void> {
    const folder = join(this.folder, `worker-${this.#workers.length + 1}`);
    mkdirSync(folder, { mode: 0o711 });
    const args = ["worker", "--server", this.gate.url, "--data-dir", folder, "--slots", "2"];
    const running = run(args, { ...this.#settings, OUTRIDER_WORKER_KEY: this.#workerKey });
    this.#workers.push({ ...running, folder });
    await running.waitForOutput("ready for runs");
  }

  /** Kills the server as a power failure would. */
  async killServer(): Promise<void> {
    await this.#servers.at(-1)?.end("SIGKILL");
  }

  /** Kills all processes of the worker at once. Programs that it has started, such as git, are not killed. */
  async killWorker(): Promise<void> {
    const worker = this.#workers.at(-1);
    if (!worker) return;
    const pids = workerPidsOf(worker.pid);
    for (const pid of pids) process.kill(pid, "SIGKILL");
    await worker.ended;
    await vi.waitUntil(() => !pids.some(isRunning), waitOptions);
  }

  get workerPid(): number {
    return this.#workers.at(-1)?.pid as number;
  }

  get serverPid(): number {
    return this.#servers.at(-1)?.pid as number;
  }

  /** Everything that servers and workers have logged. */
  output(): string {
    return [...this.#servers, ...this.#workers].map((each) => each.stdout() + each.stderr()).join("");
  }

  call(method: string, path: string, body?: unknown): Promise<Reply> {
    const url = `${this.#servers.at(-1)?.origin}/api/v1${path}`;
    return call(method, url, { key: this.key, ...(body === undefined ? {} : { body }) });
  }

  async request(method: string, path: string, body?: unknown): Promise<Reply["body"]> {
    const reply = await this.call(method, path, body);
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`);
    return reply.body;
  }

  connectForge(type: string, token: string): Promise<Reply["body"]> {
    return this.request("POST", "/agent/forges", { type, url: this.forge.url, token });
  }

  /** Connects GitHub as the web app does: GitHub creates an app and redirects with a code. */
  async connectApp(code: string): Promise<void> {
    const body = { url: this.forge.url };
    const { manifest_id, action_url } = await this.request("POST", "/agent/forge-app-manifests", body);
    const state = new URL(action_url).searchParams.get("state");
    await this.request("POST", `/agent/forge-app-manifests/${manifest_id}/complete`, { code, state });
  }

  /** Creates an environment with one repository of the forge. It has no secret: the credential of the forge is used. */
  async createEnvironment(repository: string, publish: PublishPolicy = {}): Promise<string> {
    const repos = [{ url: `${this.forge.url}/${repository}.git`, path: CHECKOUT, publish }];
    const name = `environment-${Math.random().toString(36).slice(2)}`;
    const { environment_id } = await this.request("POST", "/agent/environments", { name, repos });
    return environment_id;
  }

  async createRun({ environment, script, title, publish, idleMinutes = 0 }: NewRun): Promise<string> {
    const { run_id } = await this.request("POST", "/agent/run", {
      prompt: script.join("\n"),
      ...(title ? { title } : {}),
      config: {
        environment_id: environment,
        idle_timeout_minutes: idleMinutes,
        ...(publish ? { publish } : {}),
      },
    });
    return run_id;
  }

  followUp(id: string, script: string[]): Promise<Reply["body"]> {
    return this.request("POST", `/agent/runs/${id}/followups`, { message: script.join("\n") });
  }

  get(id: string): Promise<Reply["body"]> {
    return this.request("GET", `/agent/runs/${id}`);
  }

  async events(id: string): Promise<Event[]> {
    return (await this.request("GET", `/agent/runs/${id}/events?limit=1000`)).events;
  }

  async notices(id: string): Promise<string[]> {
    const events = await this.events(id);
    return events.filter(({ type }) => type === "notice").map(({ data }) => data.message);
  }

  /** Newest first. */
  async publications(id: string): Promise<Publication[]> {
    return (await this.request("GET", `/agent/runs/${id}/publications`)).publications;
  }

  async pullRequests(id: string): Promise<PullRequest[]> {
    return (await this.get(id)).pull_requests ?? [];
  }

  /** Waits until a run has ended in this state. */
  async until(id: string, state: string): Promise<Reply["body"]> {
    const item = await vi.waitUntil(async () => {
      const found = await this.get(id).catch(() => undefined);
      return found && (found.state === state || isFinal(found.state)) ? found : undefined;
    }, waitOptions);
    expect(`${item.state} ${item.status_message?.message ?? ""}`).toMatch(new RegExp(`^${state} `));
    return item;
  }

  /** Waits until the latest publication of a run is in this state, and no other is unfinished. Retries are not awaited. */
  async untilPublished(id: string, state: Publication["state"] = "DONE"): Promise<Publication> {
    const describe = (all: Publication[]) =>
      all.map((one) => `${one.state} ${one.status_message?.message ?? ""}`).join("\n");
    let last = "";
    try {
      return await vi.waitUntil(async () => {
        const all = await this.publications(id).catch(() => undefined);
        if (!all) return undefined;
        last = describe(all);
        const isOver = all.length > 0 && all.every(({ finished_at }) => finished_at !== undefined);
        if (isOver && all[0]?.state !== state) throw new Error("It ended in another state.");
        await this.retryNow(id);
        return isOver || all[0]?.state === state ? all[0] : undefined;
      }, waitOptions);
    } catch (error) {
      throw new Error(`The publication is not ${state}: ${last}`, { cause: error });
    }
  }

  /** Ends the pauses between attempts. */
  async retryNow(id: string): Promise<void> {
    await this.db`
      update publications set next_attempt_at = outrider_now()
      where run_id = ${id} and state in ('QUEUED', 'PUSHED') and lease_expires_at is null
        and next_attempt_at > outrider_now()`;
  }

  /** Makes leases expire now whose holder was killed. */
  async expireLeases(id: string, { worker, server }: { worker: boolean; server: boolean }): Promise<void> {
    const past = this.db`outrider_now() - interval '1 hour'`;
    if (worker) {
      await this
        .db`update publications set lease_expires_at = ${past} where run_id = ${id} and state = 'PUSHING'`;
      await this.db`
        update run_state set lease_expires_at = ${past} where run_id = ${id} and lease_expires_at is not null`;
    }
    if (server) {
      await this.db`
        update publications set lease_expires_at = ${past}, next_attempt_at = ${past}
        where run_id = ${id} and state = 'PUSHED'`;
      await this.pollNow(id);
    }
  }

  /** Makes the next poll of a run's pull requests due. */
  async pollNow(id: string): Promise<void> {
    await this.db`update forge_requests set requests = 0, blocked_until = null`;
    await this.db`
      update pull_requests set next_poll_at = outrider_now() where run_id = ${id} and next_poll_at is not null`;
  }

  async stop(): Promise<void> {
    const worker = this.#workers.at(-1);
    if (worker && isRunning(worker.pid)) await worker.end("SIGTERM");
    const server = this.#servers.at(-1);
    if (server && isRunning(server.pid)) await server.end("SIGTERM");
    await this.gate.close();
    await this.forge.close();
    await this.db.end();
    await this.#database.drop();
    removeDataDir(this.folder);
  }
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Runs git in a repository of the forge. */
export function gitIn(folder: string, ...args: string[]): string {
  const env = { PATH: process.env.PATH ?? "", HOME: "/nonexistent", GIT_CONFIG_NOSYSTEM: "1" };
  return execFileSync("git", ["-C", folder, ...args], { env, encoding: "utf8" }).trim();
}

/** Returns the branches of a bare repository with their commits. */
export function branchesOf(folder: string): Record<string, string> {
  const lines = gitIn(folder, "for-each-ref", "--format=%(refname) %(objectname)").split("\n");
  return Object.fromEntries(
    lines.map((line) => {
      const [name = "", commit = ""] = line.split(" ");
      return [name.replace("refs/heads/", ""), commit];
    }),
  );
}
