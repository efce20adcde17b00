/**
 * The thread of the event-loop watchdog. It reads a counter that the main thread increments on every tick. If the
 * counter has not changed for `timeoutMs`, the event loop is stuck: the thread finds out what it is stuck in, writes a
 * report to the supervisor, and kills the process. SIGKILL, because a stuck main thread handles no other signal.
 *
 * Time during which the main thread could not run does not count (see stall-clock.ts).
 *
 * To find out what the event loop is stuck in, the thread evaluates an expression on the main thread through the
 * inspector. V8 interrupts running JavaScript for this, including regular expressions. Some native functions, such as
 * JSON.parse, cannot be interrupted. They leave the request unanswered.
 */
import { writeSync } from "node:fs";
import { type Runtime, Session } from "node:inspector";
import { workerData } from "node:worker_threads";
import { type CurrentWork, currentWorkExpression } from "./current-work.ts";
import { readMainThread } from "./main-thread.ts";
import type { Stall, WatchdogThreadOptions } from "./stall.ts";
import { StallClock } from "./stall-clock.ts";

const MAX_TICKS_AT_ONCE = 2;
const IDENTIFY_MS = 2_000;

const { beats, tickMs, timeoutMs, reportFd } = workerData as WatchdogThreadOptions;
const clock = new StallClock({ maxTickMs: tickMs * MAX_TICKS_AT_ONCE });
let session: Session | undefined;

function readBeat(): number {
  return Atomics.load(beats, 0);
}

async function tick(): Promise<void> {
  const beat = readBeat();
  const stalledMs = clock.update({ beat, nowMs: performance.now(), mainThread: readMainThread() });
  if (stalledMs >= timeoutMs) {
    const work = await identifyWork();
    // The event loop may have continued just in time.
    if (readBeat() === beat) killProcess({ stalledMs: Math.round(stalledMs), ...(work ? { work } : {}) });
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
