import type { ProcessId } from "../process/processes.ts";

/**
 * Messages from the worker to its watchdog, one JSON object per line. Deadlines are values of `process.hrtime.bigint()`
 * as decimal strings, because JSON has no bigint.
 */
export type ToWatchdog =
  | { type: "deadline"; sandbox: string; at: string }
  | { type: "forget"; sandbox: string }
  | { type: "register"; command: number; sandbox: string; processes: ProcessId[] }
  | { type: "unregister"; command: number; sandbox: string };

/** Messages from the watchdog. "refused" means that the sandbox's deadline has passed. */
export type FromWatchdog =
  | { type: "ready" }
  | { type: "registered"; command: number }
  | { type: "refused"; command: number };

export function toLine(message: ToWatchdog | FromWatchdog): string {
  return `${JSON.stringify(message)}\n`;
}
