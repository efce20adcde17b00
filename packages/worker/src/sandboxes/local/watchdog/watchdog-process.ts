/**
 * The watchdog: a separate process next to each worker that kills sandbox processes when the worker cannot. A stopped
 * or hanging worker cannot kill anything, so it tells the watchdog in advance how long each sandbox may run.
 *
 * Protocol (messages.ts), one JSON object per line on stdin and stdout:
 * - The watchdog writes "ready" once it is reading stdin.
 * - "deadline" sets or moves a sandbox's deadline. The worker repeats all deadlines after a watchdog restart.
 * - "register" adds a command's processes and is answered with "registered", or with "refused" if the deadline has
 *   passed. The worker starts no command before it has received "registered".
 * - "unregister" removes a command whose processes have exited, and "forget" removes a sandbox that is closed.
 *
 * Invariants:
 * - At a sandbox's deadline, all its registered processes are killed. The deadline may be extended afterwards.
 * - When stdin ends, the worker has exited: all registered processes are killed. Then leftovers that were never
 *   registered are found by the worker's process tag (the first argument) and killed too.
 * - The watchdog ignores termination signals. It ends only after the worker, or by SIGKILL.
 * - It identifies processes by pid and start time, so that it never kills a process that reused a pid.
 */
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { findProcessesWithTag } from "../process/process-tag.ts";
import { killProcess, type ProcessId } from "../process/processes.ts";
import { type FromWatchdog, type ToWatchdog, toLine } from "./messages.ts";

interface WatchedSandbox {
  deadline: bigint;
  timer?: NodeJS.Timeout;
  commands: Map<number, ProcessId[]>;
}

const maxTimerMs = 2 ** 31 - 1;
const sandboxes = new Map<string, WatchedSandbox>();

function killAll({ commands }: WatchedSandbox): void {
  for (const id of [...commands.values()].flat()) {
    try {
      killProcess(id);
    } catch (error) {
      // One failure must not stop the remaining kills.
      console.error(`outrider watchdog: failed to kill process ${id.pid}:`, error);
    }
  }
}

function arm(sandbox: WatchedSandbox): void {
  clearTimeout(sandbox.timer);
  const remaining = sandbox.deadline - process.hrtime.bigint();
  if (remaining <= 0n) {
    killAll(sandbox);
  } else {
    // Timers use another clock, in milliseconds, and may fire early. In that case, `arm` sets another timer.
    const ms = Math.min(Math.ceil(Number(remaining) / 1e6), maxTimerMs);
    sandbox.timer = setTimeout(arm, ms, sandbox);
  }
}

function register({ sandbox, command, processes }: Extract<ToWatchdog, { type: "register" }>): FromWatchdog {
  const watched = sandboxes.get(sandbox);
  if (!watched || watched.deadline <= process.hrtime.bigint()) return { type: "refused", command };
  watched.commands.set(command, processes);
  return { type: "registered", command };
}

function handle(message: ToWatchdog): void {
  const watched = sandboxes.get(message.sandbox);
  switch (message.type) {
    case "deadline": {
      const sandbox = watched ?? { deadline: 0n, commands: new Map() };
      sandbox.deadline = BigInt(message.at);
      sandboxes.set(message.sandbox, sandbox);
      arm(sandbox);
      return;
    }
    case "forget":
      clearTimeout(watched?.timer);
      sandboxes.delete(message.sandbox);
      return;
    case "register":
      process.stdout.write(toLine(register(message)));
      return;
    case "unregister":
      watched?.commands.delete(message.command);
  }
}

const scanCount = 5;
const scanIntervalMs = 40;

/**
 * Kills processes that were never registered. A bubblewrap process that loses its parent while starting leaves a child
 * that waits forever. The child has run nothing yet and has the worker's process tag in its arguments.
 */
async function killUnregistered(): Promise<void> {
  const workerTag = process.argv[2] as string;
  for (let scan = 0; scan < scanCount; scan++) {
    for (const id of findProcessesWithTag(workerTag)) killProcess(id);
    await delay(scanIntervalMs);
  }
}

async function shutDown(code: number): Promise<never> {
  for (const watched of sandboxes.values()) killAll(watched);
  await killUnregistered();
  process.exit(code);
}

// A service manager signals the whole process group when it stops the worker, but the worker may still be finishing its
// work.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
process.on("uncaughtException", (error) => {
  console.error("outrider watchdog:", error);
  void shutDown(1);
});
// A worker that has exited no longer reads stdout. The end of stdin reports that too, after the last message.
process.stdout.on("error", () => {});

createInterface({ input: process.stdin })
  .on("line", (line) => handle(JSON.parse(line)))
  .on("close", () => void shutDown(0));
process.stdout.write(toLine({ type: "ready" }));
