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
 *   tools, unless the budget is spent.
 */
import { Conversation } from "@outrider/agent/conversation/conversation";
import type { LimitCode } from "@outrider/agent/conversation/notes";
import type { Failure } from "@outrider/agent/failure";
import type { Retry } from "@outrider/agent/models/model-call";
import { retryNotice } from "@outrider/agent/turn/retry-notice";
import type { Reservation } from "@outrider/agent/turn/spending";
import type { TurnContext } from "@outrider/agent/turn/turn-context";
import {
  addCall,
  type CallTokens,
  costToReserve,
  isBudgetSpent,
  likelyCost,
  limitReached,
} from "@outrider/agent/turn/usage";
import type { RunUsage } from "@outrider/contract/run";
import type { AssignedModel } from "@outrider/contract/worker";
import { captureScope } from "@outrider/telemetry/spans";

export interface TurnMeterOptions {
  input: Pick<TurnContext, "history" | "limits" | "usage">;
  io: Pick<TurnContext, "emit" | "budget" | "timeIsUp" | "signal">;
  /** Called once, when the turn reaches a limit. `refusal` is the reason if a daily budget does not allow a call. */
  onLimit(code: LimitCode, refusal?: string): void;
  /** Called before each model call and awaited, for example to deliver messages. */
  onCall?(): void | Promise<void>;
}

export interface CallRequest {
  model: AssignedModel;
  /** An estimate. */
  inputTokens: number;
  maxOutputTokens: number | undefined;
  /** Whether the request declares tools. */
  hasTools: boolean;
  /** Aborts when the agent goes away. */
  signal: AbortSignal;
}

/** A model call that may be made now. */
export interface MeteredCall {
  /** Whether the model must not call tools. */
  isLast: boolean;
  /** Aborts when the turn ends. */
  signal: AbortSignal;
  /** Records an attempt that failed and will be repeated. */
  retry(retry: Omit<Retry, "usage">): Promise<void>;
  /** Counts the call, whatever its result. `failure` is the reason if it failed. */
  end(tokens: CallTokens, failure?: Failure): Promise<void>;
}

const limitNames: Record<LimitCode, string> = {
  step_limit_exceeded: "step limit",
  budget_exceeded: "budget",
  timeout: "time limit",
};

export class TurnMeter {
  /** Calls a function in the scope of the turn's span. The agent's requests arrive in another one. */
  readonly inTurnScope = captureScope();
  usage: RunUsage;
  /** Why the agent's last call failed, if it did. */
  failure: Failure | undefined;
  readonly #options: TurnMeterOptions;
  readonly #before: RunUsage;
  readonly #startedAt = performance.now();
  /** The likely costs of the calls under way. */
  readonly #underWay = new Map<object, number>();
  /** Resolve when a call is counted. */
  readonly #endings = new Set<Promise<void>>();
  /** The last call of each model, by model id. */
  readonly #lastCalls = new Map<string, CallTokens>();
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  readonly #onTimeIsUp = () => this.#reachLimit("timeout");
  #limit: LimitCode | undefined;
  #wrapUp: "not started" | "open" | "used" = "not started";
  #hasSeenTools = false;

  constructor(options: TurnMeterOptions) {
    this.#options = options;
    const { input, io } = options;
    this.usage = input.usage;
    this.#before = new Conversation(input.history).usageBefore;
    this.#signal = AbortSignal.any([io.signal, this.#stop.signal]);
    if (io.timeIsUp.aborted) queueMicrotask(this.#onTimeIsUp);
    else io.timeIsUp.addEventListener("abort", this.#onTimeIsUp, { once: true });
  }

  /** Returns the call, or the reason for the agent why it must not be made. Rejects if the turn is over. */
  async start(request: CallRequest): Promise<MeteredCall | string> {
    this.#signal.throwIfAborted();
    if (!this.#limit) await this.#options.onCall?.();
    this.#signal.throwIfAborted();
    // An agent that was stopped in the meantime does not wait for the call.
    request.signal.throwIfAborted();
    const { model, hasTools } = request;
    this.#checkLimits(request);
    const isLast = this.#limit !== undefined;
    // The agent's own calls declare tools. Others, such as a call for a title, must not use up the last call.
    if (isLast && (this.#wrapUp !== "open" || this.#isBudgetSpent || (this.#hasSeenTools && !hasTools))) {
      return this.#refusal;
    }
    if (isLast) this.#wrapUp = "used";
    this.#hasSeenTools ||= hasTools;
    const key = {};
    const ended = Promise.withResolvers<void>();
    const { prices, model_id } = model;
    const usd = likelyCost(request.inputTokens, { prices, lastCall: this.#lastCalls.get(model_id) });
    this.#underWay.set(key, usd);
    this.#endings.add(ended.promise);
    const forget = () => {
      this.#underWay.delete(key);
      this.#endings.delete(ended.promise);
      ended.resolve();
    };
    try {
      const reserved = await this.#reserve(request);
      if (this.#signal.aborted && typeof reserved === "object") reserved.settle(this.usage.cost_usd);
      this.#signal.throwIfAborted();
      if (typeof reserved === "string") {
        forget();
        this.#reachLimit("budget_exceeded", reserved);
        return reserved;
      }
      return {
        isLast,
        signal: this.#signal,
        retry: (retry) => this.#emit(retryNotice(retry)),
        end: async (tokens, failure) => {
          if (!this.#underWay.delete(key)) return;
          // A failed call for a title or a summary does not fail the agent's work.
          if (hasTools || !this.#hasSeenTools) this.failure = failure;
          if (!failure) this.#lastCalls.set(model_id, tokens);
          await this.#count(tokens, model, reserved).finally(forget);
        },
      };
    } catch (error) {
      forget();
      throw error;
    }
  }

  /** After a limit, allows one last call without tools, so that the agent can send its final message. */
  startWrapUp(): void {
    if (this.#wrapUp === "not started") this.#wrapUp = "open";
  }

  /** Ends the turn: aborts the calls under way and waits until they are counted. */
  async close(): Promise<void> {
    this.#options.io.timeIsUp.removeEventListener("abort", this.#onTimeIsUp);
    this.#stop.abort(new Error("The turn is over."));
    await Promise.all(this.#endings);
  }

  get #refusal(): string {
    const limit = limitNames[this.#limit ?? "budget_exceeded"];
    return `This turn has reached its ${limit}, so no more model calls are possible. Stop now.`;
  }

  get #turn() {
    const steps = this.usage.steps + this.#underWay.size;
    const cost_usd = [...this.#underWay.values()].reduce((sum, usd) => sum + usd, this.usage.cost_usd);
    return { usage: { ...this.usage, steps, cost_usd }, before: this.#before };
  }

  get #isBudgetSpent(): boolean {
    return isBudgetSpent(this.#options.input.limits.max_cost_usd, this.#turn);
  }

  #checkLimits({ model: { prices, model_id }, inputTokens: nextInput }: CallRequest) {
    if (this.#limit) return;
    const { limits } = this.#options.input;
    const isTimedOut = this.#options.io.timeIsUp.aborted;
    const lastCall = this.#lastCalls.get(model_id);
    const code = this.#isBudgetSpent
      ? "budget_exceeded"
      : limitReached(limits, { ...this.#turn, isTimedOut, prices, nextInput, lastCall });
    if (code) this.#reachLimit(code);
  }

  #reachLimit(code: LimitCode, refusal?: string) {
    if (this.#limit) return;
    this.#limit = code;
    this.#options.onLimit(code, refusal);
  }

  async #reserve({
    model,
    inputTokens: input,
    maxOutputTokens,
  }: CallRequest): Promise<Reservation | string | undefined> {
    const { budget } = this.#options.io;
    const { prices, max_output_tokens, model_id } = model;
    if (!budget || !prices) return undefined;
    const lastOutput = this.#lastCalls.get(model_id)?.output ?? 0;
    const maxOutput = maxOutputTokens ?? max_output_tokens;
    const usd = costToReserve({ input, lastOutput, maxOutput }, prices);
    // A free call needs no reservation.
    return usd === 0 ? undefined : budget.reserve(usd, this.usage.cost_usd);
  }

  async #count(tokens: CallTokens, { prices }: AssignedModel, reservation: Reservation | undefined) {
    const seconds = this.#options.input.usage.run_seconds + (performance.now() - this.#startedAt) / 1000;
    const run_seconds = Math.round(seconds * 1000) / 1000;
    this.usage = { ...addCall(this.usage, tokens, prices), run_seconds };
    try {
      await this.#emit({ type: "usage.updated", data: this.usage });
    } finally {
      reservation?.settle(this.usage.cost_usd);
    }
  }

  /** Stores an event. If the server rejects it, the lease is lost, and all calls stop. */
  async #emit(event: Parameters<TurnContext["emit"]>[0]): Promise<void> {
    const { io } = this.#options;
    if (io.signal.aborted) return;
    try {
      await io.emit(event);
    } catch (error) {
      this.#stop.abort(error);
    }
  }
}
