import type { ProcessId } from "../processes.ts";

/** What a worker tells its switch, one JSON object a line. Deadlines are decimal nanoseconds: JSON has no bigint. */
export type ToSwitch =
  | { type: "deadline"; sandbox: string; at: string }
  | { type: "forget"; sandbox: string }
  | { type: "register"; command: number; sandbox: string; processes: ProcessId[] }
  | { type: "unregister"; command: number; sandbox: string };

/** "refused" means that the deadline has passed. */
export type FromSwitch =
  | { type: "ready" }
  | { type: "registered"; command: number }
  | { type: "refused"; command: number };

export function toLine(message: ToSwitch | FromSwitch): string {
  return `${JSON.stringify(message)}\n`;
}
