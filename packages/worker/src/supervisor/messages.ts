import type { Assignment } from "@outrider/contract/worker";
import type { TelemetrySettings } from "@outrider/telemetry/settings";
import type { WorkerOptions } from "../worker-runtime.ts";

export interface RunExecution {
  run_id: string;
  execution_id: string;
}

/** The settings of a worker process, in a form that can be sent to it. */
export type WorkerSettings = Omit<WorkerOptions, "log" | "supervisor" | "telemetry">;

export interface StartMessage {
  type: "start";
  settings: WorkerSettings;
  /** How long the event loop may make no progress. With 0, there is no watchdog. */
  stallMs: number;
  /** If set, the process executes only this assignment. Otherwise it claims runs. */
  assignment?: Assignment;
  /** The executions that run in isolated processes and occupy slots of this process. */
  isolated: string[];
  stalls: number;
  /** Where traces, metrics and logs are sent. */
  telemetry?: TelemetrySettings;
}

/** Messages from the supervisor to a worker process. */
export type ToProcess =
  | StartMessage
  | { type: "drain" }
  | { type: "isolated_ended"; execution_id: string }
  | { type: "stalls"; count: number };

/**
 * Messages from a worker process. They tell the supervisor at any time what the process executes, because a stuck
 * process cannot be asked.
 */
export type FromProcess =
  | { type: "hello"; processTag: string }
  | { type: "ready" }
  | { type: "failed"; message: string }
  | { type: "claiming"; request_id: string }
  | { type: "accepted" }
  | { type: "started"; executions: RunExecution[] }
  | { type: "ended"; execution_ids: string[] }
  | { type: "isolate"; assignment: Assignment };

/** The file descriptor of a worker process to which its event-loop watchdog writes its report. */
export const STALL_REPORT_FD = 4;
