/**
 * The thread of the event-loop watchdog. It reads a counter that the main thread increments on every tick. If the
 * counter has not changed for `timeoutMs`, the event loop is stuck: the thread finds out what it is stuck in, writes a
 * report to the supervisor, and kills the process. SIGKILL, because a stuck main thread handles no other signal.
 *
 * A machine that was suspended and a process that was stopped delay this thread as well as the main thread. A tick that
 * is late therefore counts as at most two ticks, however much time has passed. This does not help if the host takes away
 * only the processor on which the main thread runs.
 *
 * To find out what the event loop is stuck in, the thread evaluates an expression on the main thread through the
 * inspector. V8 interrupts running JavaScript for this, including regular expressions. Some native functions, such as
 * JSON.parse, cannot be interrupted. They leave the request unanswered.
 */
import { writeSync } from "node:fs";
import { type Runtime, Session } from "node:inspector";
import { workerData } from "node:worker_threads";
import { type CurrentWork, currentWorkExpression } from "./current-work.ts";
import type { Stall, WatchdogThreadOptions } from "./stall.ts";

const MAX_TICKS_AT_ONCE = 2;
const IDENTIFY_MS = 2_000;

const { beats, tickMs, timeoutMs, reportFd } = workerData as WatchdogThreadOptions;
let lastBeat = readBeat();
let lastTickAt = performance.now();
let stalledMs = 0;
let session: Session | undefined;

function readBeat(): number {
  return Atomics.load(beats, 0);
}

async function tick(): Promise<void> {
  const now = performance.now();
  const elapsedMs = Math.min(now - lastTickAt, tickMs * MAX_TICKS_AT_ONCE);
  lastTickAt = now;
  const beat = readBeat();
  stalledMs = beat === lastBeat ? stalledMs + elapsedMs : 0;
  lastBeat = beat;
  if (stalledMs >= timeoutMs) {
    const work = await identifyWork();
    // The event loop may have continued just in time.
    if (readBeat() === lastBeat) killProcess({ stalledMs: Math.round(stalledMs), ...(work ? { work } : {}) });
  }
  setTimeout(tick, tickMs);
}

async function identifyWork(): Promise<CurrentWork | undefined> {
  if (!session) {
    session = new Session();
    session.connectToMainThread();
  }
  const { promise, resolve } = Promise.withResolvers<CurrentWork | undefined>();
  // The session alone would not keep this thread running until the answer arrives.
  const timer = setTimeout(resolve, IDENTIFY_MS, undefined);
  const request = { expression: currentWorkExpression, returnByValue: true };
  session.post("Runtime.evaluate", request, (_error, answer?: Runtime.EvaluateReturnType) =>
    resolve(answer?.result.value),
  );
  const work = await promise;
  clearTimeout(timer);
  return work;
}

function killProcess(stall: Stall): void {
  try {
    writeSync(reportFd, JSON.stringify(stall));
  } catch {
    // The supervisor is gone, so nobody needs the report.
  }
  process.kill(process.pid, "SIGKILL");
}

setTimeout(tick, tickMs);
