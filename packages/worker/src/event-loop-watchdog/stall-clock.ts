import type { MainThread } from "./main-thread.ts";

interface Reading {
  /** The counter that the main thread increments. */
  beat: number;
  nowMs: number;
  mainThread: MainThread | undefined;
}

/**
 * Measures for how long the event loop has made no progress. Time during which the main thread could not run does not
 * count:
 *
 * - A machine that was suspended and a process that was stopped delay the watchdog as well. A reading that is late
 *   therefore counts as `maxTickMs` at most.
 * - A main thread that is ready to run may get no processor time, because the machine is overloaded or its host uses the
 *   processor for something else. Only the processor time that the thread has used counts.
 */
export class StallClock {
  readonly #maxTickMs: number;
  #last: Reading | undefined;
  #stalledMs = 0;

  constructor({ maxTickMs }: { maxTickMs: number }) {
    this.#maxTickMs = maxTickMs;
  }

  /** Returns for how many milliseconds the beat has not changed although the main thread could run. */
  update(reading: Reading): number {
    const last = this.#last;
    this.#last = reading;
    this.#stalledMs = last?.beat === reading.beat ? this.#stalledMs + this.#runnableMs(last, reading) : 0;
    return this.#stalledMs;
  }

  #runnableMs(last: Reading, { nowMs, mainThread }: Reading): number {
    const elapsedMs = Math.min(nowMs - last.nowMs, this.#maxTickMs);
    if (!mainThread?.isReady || !last.mainThread) return elapsedMs;
    return Math.min(mainThread.usedMs - last.mainThread.usedMs, elapsedMs);
  }
}
