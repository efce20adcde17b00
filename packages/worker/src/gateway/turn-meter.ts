/**
 * Counts the model calls of one turn and enforces its limits.
 *
 * The agent's calls come in through the gateway, several at a time if it has sub-agents. `start` decides whether a call
 * may be made: it checks the turn's limits and reserves the call's likely cost in the shared budget. `end` counts it.
 *
 * Invariants:
 * - Every started call is followed by exactly one `usage.updated`, and its reservation is settled.
 * - Calls under way count as steps and with their likely cost, so that concurrent calls cannot exceed a limit together.
 * - At a limit, `onLimit` is called once and calls are refused. After `startWrapUp`, one last call is made without
 *   tools.
 */
import type { LimitCode } from "@outrider/agent/conversation/notes";
import type { TurnContext } from "@outrider/agent/turn/turn-context";
import type { CallTokens } from "@outrider/agent/turn/usage";
import type { RunUsage } from "@outrider/contract/run";
import type { AssignedModel } from "@outrider/contract/worker";

export interface TurnMeterOptions {
  input: Pick<TurnContext, "history" | "limits" | "usage">;
  io: Pick<TurnContext, "emit" | "budget" | "timeIsUp" | "signal">;
  /** Called once, when the turn reaches a limit. */
  onLimit(code: LimitCode): void;
  /** Called before each model call and awaited, for example to deliver messages. */
  onCall?(): void | Promise<void>;
}

/** A model call that may be made now. */
export interface MeteredCall {
  /** Whether the model must not call tools. */
  isLast: boolean;
  /** Aborts when the turn stops. */
  signal: AbortSignal;
  /** Records an attempt that failed and will be repeated. */
  retry(retry: { attempt: number; reason: string; delay_ms: number }): Promise<void>;
  /** Counts the call, whatever its result. */
  end(tokens: CallTokens): Promise<void>;
}

export interface CallRequest {
  model: AssignedModel;
  /** An estimate. */
  inputTokens: number;
  maxOutputTokens: number | undefined;
  /** Whether the request declares tools. */
  hasTools: boolean;
}

export class TurnMeter {
  usage: RunUsage;

  constructor({ input }: TurnMeterOptions) {
    this.usage = input.usage;
  }

  /** Returns the call, or the reason for the agent why it must not be made. */
  async start(_call: CallRequest): Promise<MeteredCall | string> {
    return "The turn is over.";
  }

  /** After a limit, allows one last call without tools, so that the agent can send its final message. */
  startWrapUp(): void {}
}
