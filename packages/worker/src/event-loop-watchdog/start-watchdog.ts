import { Worker } from "node:worker_threads";
import type { Log } from "../log.ts";
import type { WatchdogThreadOptions } from "./stall.ts";

const TICKS_PER_TIMEOUT = 20;
const MAX_TICK_MS = 500;

/**
 * Starts the event-loop watchdog: a thread that kills this process if its event loop makes no progress for `timeoutMs`
 * (watchdog-thread.ts). It is not related to the sandbox watchdog, which kills the processes of sandboxes.
 */
export function startEventLoopWatchdog({
  timeoutMs,
  reportFd,
  log,
}: {
  timeoutMs: number;
  /** The file descriptor that the watchdog writes its report to before it kills the process. */
  reportFd: number;
  log: Log;
}): void {
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const tickMs = Math.min(timeoutMs / TICKS_PER_TIMEOUT, MAX_TICK_MS);
  setInterval(() => Atomics.add(beats, 0, 1), tickMs).unref();
  const workerData: WatchdogThreadOptions = { beats, tickMs, timeoutMs, reportFd };
  const thread = new Worker(new URL("watchdog-thread.ts", import.meta.url), {
    workerData,
    // The thread needs neither the process's options nor its environment, which contains the worker key.
    execArgv: [],
    env: {},
  });
  thread.unref();
  thread.on("error", (error) => log.error({ error }, "event-loop watchdog failed"));
}
