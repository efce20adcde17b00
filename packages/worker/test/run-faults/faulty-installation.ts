/**
 * Runs whose workers and engine fail: one server, worker processes that reach the server and the engine through proxies, and an
 * engine of its own. Leases are short so that they expire within a test.
 */
import { onTestFinished, vi } from "vitest";
import { TcpProxy } from "../../../../e2e/chaos/tcp-proxy.ts";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import {
  longSleep,
  processesWith,
  startTestInstallation,
  type TestInstallation,
  waitForSleep,
} from "../installation.ts";
import type { FaultyEngine } from "./faulty-engine.ts";

export const LEASE_MS = 12_000;

export interface FaultyWorker {
  /** Of the worker's supervisor. */
  pid: number;
  name: string;
  /** The options with which it was started. */
  options: string[];
  toServer: TcpProxy;
  toEngine: TcpProxy;
  waitForOutput(text: string): Promise<void>;
  end(signal: NodeJS.Signals): Promise<unknown>;
}

export interface FaultyInstallation extends TestInstallation {
  engine: FaultyEngine;
  /** Starts a worker. One of the same `folder` is the same for the engine. */
  startWorker(name: string): Promise<FaultyWorker>;
  /** Starts the process of a worker again. */
  restartWorker(worker: FaultyWorker): Promise<void>;
}

export async function startFaultyInstallation(engine: FaultyEngine): Promise<FaultyInstallation> {
  const installation = await startTestInstallation({
    OUTRIDER_LEASE_SECONDS: String(LEASE_MS / 1_000),
    OUTRIDER_LEASE_GRACE_SECONDS: "1",
  });
  onTestFinished(() => installation.stop());
  const openProxy = async (target: Parameters<typeof TcpProxy.open>[0]) => {
    const proxy = await TcpProxy.open(target);
    onTestFinished(() => proxy.close());
    return proxy;
  };
  return {
    ...installation,
    engine,
    async startWorker(name) {
      const { hostname, port } = new URL(installation.origin);
      const toServer = await openProxy({ host: hostname, port: Number(port) });
      const toEngine = await openProxy(engine.target);
      const options = ["--server", toServer.url, ...(await engine.workerOptions(toEngine.port))];
      const worker = await installation.workerProcess(name, ...options);
      onTestFinished(() => continueProcesses(worker.folder));
      const { pid, folder, waitForOutput, end } = worker;
      const more = [...options, "--data-dir", folder];
      return { pid, name, options: more, toServer, toEngine, waitForOutput, end };
    },
    async restartWorker({ name, options }) {
      await installation.workerProcess(name, ...options);
    },
  };
}

/** A stopped process would not end with its installation. */
function continueProcesses(folder: string): void {
  for (const line of processesWith(folder)) {
    try {
      process.kill(Number.parseInt(line, 10), "SIGCONT");
    } catch {} // it has exited
  }
}

/** A run in the middle of the second turn. Its first turn has stored a file, which the second has read. */
export interface InterruptedRun {
  id: string;
  /** The command that runs until it is killed. */
  command: string;
  sleeps: SleepWatch;
}

export async function startInterruptedRun(installation: FaultyInstallation): Promise<InterruptedRun> {
  const { command, mark } = longSleep();
  const id = await installation.create(["RUN: echo stored > file"], { config: { idle_timeout_minutes: 0 } });
  await installation.until(id, "SUCCEEDED");
  await installation.followUp(id, ["RUN: cat file", `RUN: ${command}`]);
  await waitForSleep(mark);
  return { id, command, sleeps: new SleepWatch(mark) };
}

const WATCH_MS = 50;

/** Watches how many processes run a `sleep`, which is one for each attempt that is running. */
export class SleepWatch {
  readonly #mark: string;
  readonly #timer: NodeJS.Timeout;
  /** The largest number of processes at the same time. */
  max = 0;
  /** When one was seen. */
  readonly #times: number[] = [];

  constructor(mark: string) {
    this.#mark = mark;
    this.#timer = setInterval(() => this.#look(), WATCH_MS);
    onTestFinished(() => clearInterval(this.#timer));
  }

  #look(): number {
    const now = Date.now();
    const count = processesWith(this.#mark).filter((line) => /^\d+ sleep /.test(line)).length;
    this.max = Math.max(this.max, count);
    if (count > 0) this.#times.push(now);
    return count;
  }

  /** Whether one was seen after the first time and before the second. */
  wasAliveBetween(from: number, to: number): boolean {
    return this.#times.some((time) => time > from && time < to);
  }

  async waitUntilGone(): Promise<void> {
    await vi.waitUntil(() => this.#look() === 0, waitOptions);
  }

  async waitUntilRunning(): Promise<void> {
    await waitForSleep(this.#mark);
  }
}
