import type { CurrentWork } from "./current-work.ts";

/** What the watchdog reports before it kills its process. */
export interface Stall {
  /** For how long the event loop has made no progress. */
  stalledMs: number;
  /** What the event loop is stuck in. Absent if it is unknown. */
  work?: CurrentWork;
}

/** What the watchdog's thread is started with. */
export interface WatchdogThreadOptions {
  /** A counter that the main thread increments on every tick. */
  beats: Int32Array;
  tickMs: number;
  timeoutMs: number;
  /** The file descriptor that the report is written to. */
  reportFd: number;
}
