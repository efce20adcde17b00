import type { PlanUpdatedEvent, RunEvent } from "@outrider/sdk";
import type { Blocks } from "./blocks.ts";
import type { Bodies } from "./bodies.ts";
import type { FileFact, UsagePoint } from "./facts.ts";
import type { LogSource } from "./source.ts";

/** `ended`: the run is final and all of it was told; a follow-up makes it live again. */
export type LogStatus = "loading" | "live" | "ended" | "reconnecting" | "failed";

/** A log as it stands now. Every change makes a new one; what it shows only grows. */
export interface LogView {
  status: LogStatus;
  /** Why it failed, or is reconnecting. */
  error?: unknown;
  lastSeq: number;
  turns: number;
  /** `run.*` and `environment.step`. */
  milestones: readonly RunEvent[];
  plan?: PlanUpdatedEvent | undefined;
  usage: readonly UsagePoint[];
  files: readonly FileFact[];
  /** What the agent is saying and does not stand in the log yet. */
  speaking: string;
  /** Where failed commands, tools and steps begin. */
  errors: readonly number[];
  /** Looks at once whether there is more, for instance after a follow-up was sent. */
  wake: () => void;

  /** For the transcript alone: how many blocks this view knows of, and where they are. */
  count: number;
  blocks: Blocks;
  bodies: Bodies;
  source: LogSource;
}
