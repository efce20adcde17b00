import type { EnvironmentCheck } from "@outrider/contract/environment";
import type { SentFile } from "@outrider/contract/event";
import type { FollowupMode } from "@outrider/contract/followup";
import type { ModelPrices } from "@outrider/contract/model";
import type { RunUsage } from "@outrider/contract/run";
import type { AssignedModel } from "@outrider/contract/worker";
import type { AgentEvent, LogEvent } from "../event.ts";
import type { RunFiles } from "../files.ts";
import type { ProviderModel } from "../models/provider.ts";
import type { Tool } from "../tools/tool.ts";
import type { Workspace } from "../workspace.ts";
import type { SharedBudget } from "./spending.ts";

/** What one turn needs from its surroundings: the model, the run's log, its workspace, its limits and its signals. */
export interface TurnContext {
  model: ProviderModel;
  model_id: string;
  model_facts: Pick<AssignedModel, "context_tokens" | "max_output_tokens" | "supports_images">;
  prices?: ModelPrices | undefined;
  tools: readonly Tool[];
  /** The environment's checks, which run after edits. */
  checks?: readonly EnvironmentCheck[] | undefined;
  /** The complete instructions; see instructions/assemble.ts. */
  instructions: string;
  /** The JSON Schema of the run's answer, if it requires a structured one. */
  output_schema?: Record<string, unknown> | undefined;
  /** The run's complete log so far. Turns, attempts and `runTurn` calls share no other state. */
  history: readonly LogEvent[];
  workspace: Workspace;
  files: RunFiles;
  /**
   * Stores an event. Resolves with the redacted event once it is accepted for writing. Rejects when the lease is lost,
   * which stops the turn at once.
   */
  emit(event: AgentEvent): Promise<AgentEvent>;
  /**
   * Receives the model's text as it streams in. Delivery is best effort, and the text is not stored, because the
   * complete text follows as an event.
   */
  delta(text: string): void;
  /**
   * Returns the waiting messages, which are already in the log. Called before every model call. Rejects in the same
   * cases as `emit`.
   */
  takeMessages(): Promise<
    { followup_id: string; message: string; mode: FollowupMode; attachments?: SentFile[] | undefined }[]
  >;
  /**
   * Returns a signal that is aborted while a message with mode `interrupt` is waiting. Taking messages replaces the
   * signal.
   */
  interrupt(): AbortSignal;
  /** Aborts at the turn's time limit: the current step stops, and the agent may send a final message. */
  timeIsUp: AbortSignal;
  /** This turn's limits. A step is one model call. */
  limits: { max_steps: number; max_cost_usd?: number | undefined };
  /** A budget shared with other runs. Each call to a model with prices must first reserve its cost in this budget. */
  budget?: SharedBudget | undefined;
  /** The run's usage so far, including earlier attempts of this turn. */
  usage: RunUsage;
  /** Aborts on cancel, lost lease or drain: the turn stops within milliseconds and emits nothing more. */
  signal: AbortSignal;
}
