/**
 * The dead-man's switch, a process of its own beside each worker. A worker that is stopped or hangs cannot kill
 * anything, so it tells us in advance until when each sandbox may run. We kill what is registered with a sandbox
 * when its deadline has come, and everything when the worker is gone, which the end of our stdin shows.
 */
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { processesWith } from "../mark.ts";
import { endProcess, type ProcessId } from "../processes.ts";
import { type FromSwitch, type ToSwitch, toLine } from "./messages.ts";

interface Watched {
  deadline: bigint;
  timer?: NodeJS.Timeout;
  commands: Map<number, ProcessId[]>;
}

const longestTimer = 2 ** 31 - 1;
const sandboxes = new Map<string, Watched>();

function killAll({ commands }: Watched): void {
  for (const id of [...commands.values()].flat()) {
    try {
      endProcess(id);
    } catch (error) {
      // One that cannot be killed must not save the others.
      console.error(`outrider switch: cannot kill process ${id.pid}:`, error);
    }
  }
}

function arm(watched: Watched): void {
  clearTimeout(watched.timer);
  const left = watched.deadline - process.hrtime.bigint();
  if (left <= 0n) {
    killAll(watched);
  } else {
    // Timers count in milliseconds of another clock and may be early: arm looks again.
    const ms = Math.min(Math.ceil(Number(left) / 1e6), longestTimer);
    watched.timer = setTimeout(arm, ms, watched);
  }
}

function register({ sandbox, command, processes }: Extract<ToSwitch, { type: "register" }>): FromSwitch {
  const watched = sandboxes.get(sandbox);
  if (!watched || watched.deadline <= process.hrtime.bigint()) return { type: "refused", command };
  watched.commands.set(command, processes);
  return { type: "registered", command };
}

function handle(message: ToSwitch): void {
  const watched = sandboxes.get(message.sandbox);
  switch (message.type) {
    case "deadline": {
      const known = watched ?? { deadline: 0n, commands: new Map() };
      known.deadline = BigInt(message.at);
      sandboxes.set(message.sandbox, known);
      arm(known);
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

const looks = 5;
const betweenLooksMs = 40;

/**
 * A bubblewrap that loses its parent while it starts, before it is registered, leaves a child which waits for ever to be
 * let go. It has run nothing, and the worker's mark in its arguments finds it.
 */
async function sweep(): Promise<void> {
  const mark = process.argv[2] as string;
  for (let look = 0; look < looks; look++) {
    for (const id of processesWith(mark)) endProcess(id);
    await delay(betweenLooksMs);
  }
}

async function end(code: number): Promise<never> {
  for (const watched of sandboxes.values()) killAll(watched);
  await sweep();
  process.exit(code);
}

// A service manager signals the whole group when it stops the worker, which may still want to finish its work.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
process.on("uncaughtException", (error) => {
  console.error("outrider switch:", error);
  void end(1);
});
// The worker closed its end: stdin says so too, after all that it sent before.
process.stdout.on("error", () => {});

createInterface({ input: process.stdin })
  .on("line", (line) => handle(JSON.parse(line)))
  .on("close", () => void end(0));
process.stdout.write(toLine({ type: "ready" }));
