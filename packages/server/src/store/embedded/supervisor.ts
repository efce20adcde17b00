import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { tailOf, trimLog } from "./log-file.ts";
import type { Postmaster } from "./postmaster.ts";

export interface Supervisor {
  stop(): Promise<void>;
}

const firstAttempts = 7;
const attemptsUntilFatal = 10;
/** Less than this and an end counts as one more failure in a row. */
const soundLife = 10_000;

/** Keeps PostgreSQL running until stop(). Rejects when it cannot be started in the first place. */
export async function supervise(options: {
  launch: (signal: AbortSignal) => Promise<Postmaster>;
  logPath: string;
  log: Logger;
}): Promise<Supervisor> {
  const { launch, logPath, log } = options;
  const stopping = new AbortController();
  const first = await launchFirst({ launch, logPath, signal: stopping.signal });
  const running = keepRunning({ first, launch, logPath, log, signal: stopping.signal });
  const trimming = setInterval(() => trimLog(logPath), 60_000).unref();
  return {
    stop: async () => {
      clearInterval(trimming);
      stopping.abort();
      await running;
    },
  };
}

interface Launching {
  launch: (signal: AbortSignal) => Promise<Postmaster>;
  logPath: string;
  signal: AbortSignal;
}

/** Several attempts: what a killed postmaster leaves behind holds shared memory for a moment. */
async function launchFirst({ launch, logPath, signal }: Launching): Promise<Postmaster> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await launch(signal);
    } catch (error) {
      if (attempt < firstAttempts) {
        await sleep(pauseAfter(attempt));
        continue;
      }
      const message = `PostgreSQL could not be started: ${(error as Error).message}`;
      throw new Error(`${message}\nThe end of ${logPath}:\n${tailOf(logPath)}`, { cause: error });
    }
  }
}

async function keepRunning(options: Launching & { first: Postmaster; log: Logger }): Promise<void> {
  const { signal, log, logPath } = options;
  let current: Postmaster | undefined = options.first;
  let failures = 0;
  while (current) {
    const readyAt = performance.now();
    const reason = await current.exited;
    if (signal.aborted) return;
    failures = performance.now() - readyAt > soundLife ? 0 : failures + 1;
    const message = "PostgreSQL ended unexpectedly: starting it again";
    log[levelOf(failures)]({ reason, failures, postgresLog: tailOf(logPath) }, message);
    current = await relaunch({ ...options, failures });
  }
}

async function relaunch(
  options: Launching & { log: Logger; failures: number },
): Promise<Postmaster | undefined> {
  const { launch, logPath, log, signal } = options;
  for (let { failures } = options; ; failures++) {
    await sleep(pauseAfter(failures), undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return undefined;
    try {
      const postmaster = await launch(signal);
      log.info({ pid: postmaster.pid }, "PostgreSQL runs again");
      return postmaster;
    } catch (error) {
      if (signal.aborted) return undefined;
      const message = "PostgreSQL could not be started again";
      log[levelOf(failures)]({ err: error, failures, postgresLog: tailOf(logPath) }, message);
    }
  }
}

function levelOf(failures: number): "error" | "fatal" {
  return failures === attemptsUntilFatal ? "fatal" : "error";
}

function pauseAfter(failures: number): number {
  return failures === 0 ? 0 : Math.min(50 * 2 ** failures, 5_000);
}
