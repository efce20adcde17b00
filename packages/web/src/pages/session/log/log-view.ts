import type { PlanUpdatedEvent, RunEvent } from "@outrider/sdk";
import type { Blocks } from "./blocks.ts";
import type { EventCache } from "./event-cache.ts";
import type { LogSource } from "./log-source.ts";
import type { UsagePoint } from "./log-summary.ts";

/**
 * The log's status. `ended` means that the run is final and all events have been read. A follow-up makes the log live
 * again.
 */
export type LogStatus = "loading" | "live" | "ended" | "reconnecting" | "failed";

/** A snapshot of the log. Every change creates a new one. */
export interface LogView {
  status: LogStatus;
  /** The cause of `failed` or `reconnecting`. */
  error?: unknown;
  lastSeq: number;
  turns: number;
  /** The events about the run's state, environment, branches and pull requests. */
  milestones: readonly RunEvent[];
  plan?: PlanUpdatedEvent | undefined;
  usage: readonly UsagePoint[];
  /** The text of the message that is currently streaming and is not in the log yet. */
  streamingText: string;
  /** The sequence numbers of the first events of failed commands, tool calls and steps. */
  errors: readonly number[];
  /** Checks for new events at once, for example after sending a follow-up. */
  wake: () => void;

  /** The number of blocks at the time of this snapshot. Only the transcript uses this and the following fields. */
  count: number;
  blocks: Blocks;
  cache: EventCache;
  source: LogSource;
}
