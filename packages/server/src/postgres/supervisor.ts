import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { startTicker } from "../ticker.ts";
import { tailOf, trimLog } from "./log-file.ts";
import type { Postmaster } from "./postmaster.ts";

export interface Supervisor {
  stop(): Promise<void>;
}

const maxFirstAttempts = 7;
const failuresUntilFatal = 10;
/** If PostgreSQL exits sooner than this after its start, the exit counts as another consecutive failure. */
const minHealthyMs = 10_000;

/** Starts PostgreSQL and restarts it whenever it exits, until `stop` is called. Rejects if the first start fails. */
export async function supervise(options: {
  launch: (signal: AbortSignal) => Promise<Postmaster>;
  logPath: string;
  log: Logger;
}): Promise<Supervisor> {
  const { launch, logPath, log } = options;
  const stopping = new AbortController();
  const first = await launchFirst({ launch, logPath, signal: stopping.signal });
  const running = keepRunning({ first, launch, logPath, log, signal: stopping.signal });
  const trimming = startTicker({ everyMs: 60_000, task: () => trimLog(logPath) });
  return {
    stop: async () => {
      await trimming.stop();
      stopping.abort();
      await running;
    },
  };
}

interface LaunchOptions {
  launch: (signal: AbortSignal) => Promise<Postmaster>;
  logPath: string;
  signal: AbortSignal;
}

/** Retries, because a killed postmaster's child processes may use shared memory for a moment longer. */
async function launchFirst({ launch, logPath, signal }: LaunchOptions): Promise<Postmaster> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await launch(signal);
    } catch (error) {
      if (attempt < maxFirstAttempts) {
        await sleep(backoffMs(attempt));
        continue;
      }
      const message = `PostgreSQL could not be started: ${(error as Error).message}`;
      throw new Error(`${message}\nThe last lines of ${logPath}:\n${tailOf(logPath)}`, { cause: error });
    }
  }
}

async function keepRunning(options: LaunchOptions & { first: Postmaster; log: Logger }): Promise<void> {
  const { signal, log, logPath } = options;
  let current: Postmaster | undefined = options.first;
  let failures = 0;
  while (current) {
    const readyAt = performance.now();
    const reason = await current.exited;
    if (signal.aborted) return;
    failures = performance.now() - readyAt > minHealthyMs ? 0 : failures + 1;
    const message = "PostgreSQL exited unexpectedly, restarting it";
    log[levelOf(failures)]({ reason, failures, postgresLog: tailOf(logPath) }, message);
    current = await relaunch({ ...options, failures });
  }
}

async function relaunch(
  options: LaunchOptions & { log: Logger; failures: number },
): Promise<Postmaster | undefined> {
  const { launch, logPath, log, signal } = options;
  for (let { failures } = options; ; failures++) {
    await sleep(backoffMs(failures), undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return undefined;
    try {
      const postmaster = await launch(signal);
      log.info({ pid: postmaster.pid }, "PostgreSQL restarted");
      return postmaster;
    } catch (error) {
      if (signal.aborted) return undefined;
      const message = "failed to restart PostgreSQL";
      log[levelOf(failures)]({ err: error, failures, postgresLog: tailOf(logPath) }, message);
    }
  }
}

function levelOf(failures: number): "error" | "fatal" {
  return failures === failuresUntilFatal ? "fatal" : "error";
}

function backoffMs(failures: number): number {
  return failures === 0 ? 0 : Math.min(50 * 2 ** failures, 5_000);
}
