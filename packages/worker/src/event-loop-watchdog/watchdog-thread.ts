/**
 * The thread of the event-loop watchdog. It reads a counter that the main thread increments on every tick. If the
 * counter has not changed for `timeoutMs`, the event loop is stuck: the thread finds out what it is stuck in, writes a
 * report to the supervisor, and kills the process. SIGKILL, because a stuck main thread handles no other signal.
 *
 * Time during which the main thread could not run does not count. A machine that was suspended and a process that was
 * stopped delay this thread as well as the main thread: a tick that is late counts as at most two ticks, however much
 * time has passed. A main thread that is ready to run but gets no processor time, because the machine is overloaded or
 * the host uses the processor for something else, counts only for the processor time that it has used
 * (main-thread-time.ts).
 *
 * To find out what the event loop is stuck in, the thread evaluates an expression on the main thread through the
 * inspector. V8 interrupts running JavaScript for this, including regular expressions. Some native functions, such as
 * JSON.parse, cannot be interrupted. They leave the request unanswered.
 */
import { writeSync } from "node:fs";
import { type Runtime, Session } from "node:inspector";
import { workerData } from "node:worker_threads";
import { type CurrentWork, currentWorkExpression } from "./current-work.ts";
import { readMainThread } from "./main-thread-time.ts";
import type { Stall, WatchdogThreadOptions } from "./stall.ts";

const MAX_TICKS_AT_ONCE = 2;
const IDENTIFY_MS = 2_000;

const { beats, tickMs, timeoutMs, reportFd } = workerData as WatchdogThreadOptions;
let lastBeat = readBeat();
let lastTickAt = performance.now();
let lastUsedMs = readMainThread()?.usedMs ?? 0;
let stalledMs = 0;
let session: Session | undefined;

function readBeat(): number {
  return Atomics.load(beats, 0);
}

/** Returns for how much of the time since the last tick the main thread could run. */
function measureTick(): number {
  const now = performance.now();
  const elapsedMs = Math.min(now - lastTickAt, tickMs * MAX_TICKS_AT_ONCE);
  lastTickAt = now;
  const mainThread = readMainThread();
  if (!mainThread) return elapsedMs;
  const usedMs = mainThread.usedMs - lastUsedMs;
  lastUsedMs = mainThread.usedMs;
  return mainThread.isReady ? Math.min(usedMs, elapsedMs) : elapsedMs;
}

async function tick(): Promise<void> {
  const elapsedMs = measureTick();
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
