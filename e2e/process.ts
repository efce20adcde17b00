import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { modelKeyVariables } from "@outrider/server/config/models";
import { clusterName } from "@outrider/server/postgres/leftovers";
import { findProcesses } from "@outrider/server/postgres/os-processes";
import { expect, vi } from "vitest";
import { waitOptions } from "../scripts/tests/wait-options.ts";

/** Starts `bin/outrider` as a separate process and observes it from the outside. */

export const root = join(import.meta.dirname, "..");

export function makeDataDir(): string {
  const dataDir = realpathSync(mkdtempSync(join(tmpdir(), "outrider-e2e-")));
  // PostgreSQL runs under another account when the test runs as root, and needs to traverse this folder.
  if (process.getuid?.() === 0) chmodSync(dataDir, 0o711);
  return dataDir;
}

/** Lists the processes that use a data folder, by their command line: servers and PostgreSQL with its children. */
export function processesOn(dataDir: string): string[] {
  const entry = join(dataDir, "postgres");
  const cluster = existsSync(entry) ? realpathSync(entry) : entry;
  const title = `postgres: ${clusterName(cluster)}: `;
  const isOurs = (command: string) =>
    command.includes(dataDir) || command.includes(cluster) || command.startsWith(title);
  return findProcesses(isOurs).map(({ pid, command }) => `${pid} ${command}`);
}

/** Waits until no process uses a data folder. The backends of a killed PostgreSQL exit a moment later. */
export async function expectNothingOn(dataDir: string): Promise<void> {
  await vi.waitFor(() => expect(processesOn(dataDir)).toEqual([]), waitOptions);
}

/** Kills processes that a failed test left on its data folder, and removes the folder. */
export function removeDataDir(dataDir: string): void {
  for (const line of processesOn(dataDir)) process.kill(Number.parseInt(line, 10), "SIGKILL");
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}

export function postmasterOf(dataDir: string): number {
  return Number.parseInt(readFileSync(join(dataDir, "postgres", "postmaster.pid"), "utf8"), 10);
}

type Environment = Record<string, string>;

/** Tests send more requests than the default rate limits allow. */
const unlimitedRates = {
  OUTRIDER_REQUESTS_PER_MINUTE: "1000000",
  OUTRIDER_CREATIONS_PER_MINUTE: "1000000",
  OUTRIDER_FAILURES_PER_MINUTE: "1000000",
};

/** Returns the machine's environment without variables that configure Outrider, plus the given ones. */
function environmentWith(variables: Environment): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^OUTRIDER_|^DATABASE_(DIRECT_)?URL$/.test(name) && !modelKeyVariables.includes(name),
  );
  return { ...Object.fromEntries(inherited), ...unlimitedRates, ...variables };
}

export interface End {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface Running {
  pid: number;
  /** The output so far. */
  stdout(): string;
  stderr(): string;
  ended: Promise<End>;
  /** Sends a signal and waits until the process exits. */
  end(signal: NodeJS.Signals): Promise<End>;
  /** Waits until the output contains the text. */
  waitForOutput(text: string): Promise<void>;
}

export function run(
  args: string[],
  environment: Environment = {},
  bin = join(root, "bin/outrider"),
): Running {
  const child = spawn(bin, args, {
    cwd: tmpdir(),
    env: environmentWith(environment),
    stdio: ["ignore", "pipe", "pipe"],
  });
  return watch(child, `outrider ${args.join(" ")}`);
}

export function watch(child: ChildProcess, name: string): Running {
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  let end: End | undefined;
  const ended = once(child, "close").then(([code, signal]): End => {
    end = { code, signal };
    return end;
  });
  return {
    pid: child.pid as number,
    stdout: () => stdout,
    stderr: () => stderr,
    ended,
    async end(signal) {
      child.kill(signal);
      return ended;
    },
    async waitForOutput(text) {
      await vi.waitUntil(() => (stdout + stderr).includes(text) || end, waitOptions);
      if (!(stdout + stderr).includes(text)) {
        throw new Error(
          `${name} exited (${end?.signal ?? end?.code}) before it printed "${text}": ${stderr}`,
        );
      }
    },
  };
}

/** Runs a command to its end and returns its output. */
export async function outrider(args: string[], environment: Environment = {}) {
  const running = run(args, environment);
  const { code } = await running.ended;
  return { code, stdout: running.stdout(), stderr: running.stderr() };
}

export interface ServeOptions {
  dataDir: string;
  port?: number;
  environment?: Environment;
}

export interface Serving extends Running {
  dataDir: string;
  origin: string;
}

export function startServing({ dataDir, port = 0, environment }: ServeOptions): Running {
  return run(["serve", "--port", String(port), "--data-dir", dataDir], environment);
}

/** Starts a server and waits until it has printed its address and the other lines of its start. */
export async function serve(options: ServeOptions): Promise<Serving> {
  const running = startServing(options);
  await running.waitForOutput("  workers ");
  const origin = /Outrider is listening on (https?:\S+)/.exec(running.stderr())?.[1] as string;
  return { ...running, dataDir: options.dataDir, origin };
}

export function keyOf(dataDir: string): string {
  return readFileSync(join(dataDir, "key"), "utf8").trim();
}

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers have many shapes
  body: any;
}

export interface CallOptions {
  key?: string | undefined;
  body?: unknown;
  headers?: Record<string, string>;
}

/** Sends one request. A body that is not a string is sent as JSON. */
export async function call(method: string, url: string, options: CallOptions = {}): Promise<Reply> {
  const { key, body, headers = {} } = options;
  const response = await fetch(url, {
    method,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    signal: AbortSignal.timeout(20_000),
  });
  const text = await response.text();
  const isJson = /json/.test(response.headers.get("content-type") ?? "");
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? JSON.parse(text) : undefined,
  };
}
