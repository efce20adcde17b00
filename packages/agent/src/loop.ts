import type { FollowupMode } from "@outrider/contract/followup";
import type { ModelPrices } from "@outrider/contract/model";
import type { RunUsage } from "@outrider/contract/run";
import type { TurnOutcome } from "@outrider/contract/worker";
import { BackgroundCommands } from "./background.ts";
import { Conversation } from "./conversation.ts";
import { type AgentEvent, type LogEvent, storable } from "./event.ts";
import { Failure, failedCall, messageOf } from "./failure.ts";
import type { RunFiles } from "./files.ts";
import { type Answer, callModel, type Retry, type ToolCall } from "./model-call.ts";
import type { ProviderModel } from "./models/provider.ts";
import type { LimitCode } from "./notes.ts";
import type { Image, Tool, ToolResult } from "./tools/tool.ts";
import { limitEnd, limitReached, withCall } from "./usage.ts";
import type { Workspace } from "./workspace.ts";

export interface TurnContext {
  model: ProviderModel;
  model_id: string;
  prices?: ModelPrices | undefined;
  tools: readonly Tool[];
  /** The assembled whole; see prompt.ts. */
  instructions: string;
  /** The run's whole log so far. Nothing else is remembered from one turn, attempt or call of `runTurn` to the next. */
  history: readonly LogEvent[];
  workspace: Workspace;
  files: RunFiles;
  /** Resolves when the event is accepted for writing. Rejects when the lease is lost: the turn stops at once. */
  emit(event: AgentEvent): Promise<void>;
  /** What the model is just saying. Best effort, never stored: the whole follows as an event. */
  delta(text: string): void;
  /** Asked before every model call. What it answers already stands in the log as `message.user`. Rejects as `emit` does. */
  takeMessages(): Promise<{ followup_id: string; message: string; mode: FollowupMode }[]>;
  /** Aborted as long as a message in mode `interrupt` waits to be taken; a new one afterwards. */
  interrupt(): AbortSignal;
  /** Aborts when the turn's time is up: the step at work is stopped and the agent may speak once more. */
  timeIsUp: AbortSignal;
  /** For this turn alone. Steps are model calls. */
  limits: { max_steps: number; max_cost_usd?: number | undefined };
  /** Of the run so far, this turn's earlier attempts included. */
  usage: RunUsage;
  /** Cancel, lost lease, drain, time-out: the turn stops within milliseconds and writes nothing more. */
  signal: AbortSignal;
}

/** The last call at a limit is nobody's to interrupt. */
const never = new AbortController().signal;

const interruptMessage = "A message interrupted the agent while it was thinking.";

const limitMessages: Record<LimitCode, string> = {
  step_limit_exceeded: "The turn has used up its steps. The agent was told to wrap up.",
  budget_exceeded: "The turn has used up its budget. The agent was told to wrap up.",
  timeout: "The turn has used up its time. The agent was told to wrap up.",
};

/** Either what the run is told about the turn's end, or that somebody else ended it. */
export type TurnEnd = TurnOutcome | { type: "stopped"; reason: unknown };

/**
 * Works until the agent is done, asks, fails or is stopped. A failed model call is an end like any other; what this
 * throws is a bug. When the end is refused because messages came in between, call it again with the log as it stands.
 */
export async function runTurn(context: TurnContext): Promise<TurnEnd> {
  const lost = new AbortController();
  const halt = AbortSignal.any([context.signal, lost.signal]);
  const stopped = new Promise<TurnEnd>((resolve) => {
    const stop = () => resolve({ type: "stopped", reason: halt.reason });
    if (halt.aborted) stop();
    else halt.addEventListener("abort", stop, { once: true });
  });
  const turn = new Turn(context, halt, (error) => lost.abort(error));
  const ended = turn.run().catch((error: unknown): TurnEnd => {
    if (halt.aborted) return { type: "stopped", reason: halt.reason };
    if (error instanceof Failure) return { type: "failed", error_code: error.code, message: error.message };
    throw error;
  });
  return Promise.race([stopped, ended]);
}

class Turn {
  private readonly context: TurnContext;
  private readonly halt: AbortSignal;
  private readonly lose: (error: unknown) => void;
  private readonly conversation: Conversation;
  private readonly background: BackgroundCommands;
  private readonly began = performance.now();
  private usage: RunUsage;

  constructor(context: TurnContext, halt: AbortSignal, lose: (error: unknown) => void) {
    this.context = context;
    this.halt = halt;
    this.lose = lose;
    this.usage = context.usage;
    this.conversation = new Conversation(context.history);
    const { workspace } = context;
    this.background = new BackgroundCommands({ workspace, emit: (event) => this.emit(event), signal: halt });
  }

  async run(): Promise<TurnOutcome> {
    try {
      return await this.work();
    } finally {
      await this.background.end();
    }
  }

  private async work(): Promise<TurnOutcome> {
    await this.start();
    for (;;) {
      await this.takeMessages();
      const { ended } = this.conversation;
      if (ended) return ended;
      const limit = await this.meetLimits();
      const interrupt = limit ? never : AbortSignal.any([this.context.interrupt(), this.context.timeIsUp]);
      const answer = await this.think(interrupt, { mayCallTools: limit === undefined });
      if (answer === "interrupted") continue;
      if (limit) return limitEnd(limit);
      if (answer.type !== "answer") return answer;
      for (const call of answer.calls) await this.act(call, interrupt);
    }
  }

  private async start() {
    const { instructions, model_id } = this.context;
    const { started } = this.conversation;
    if (started?.instructions === instructions && started.model_id === model_id) return;
    await this.emit({ type: "run.started", data: { instructions, model_id } });
  }

  private async takeMessages() {
    this.halt.throwIfAborted();
    for (const { followup_id, message, mode } of await this.held(this.context.takeMessages())) {
      this.conversation.add({ type: "message.user", data: { text: message, followup_id, mode } });
    }
    this.halt.throwIfAborted();
  }

  /** At a limit the agent is told so once and may speak once more, without tools. */
  private async meetLimits() {
    const { usage, conversation } = this;
    if (conversation.wrapUp) return conversation.wrapUp;
    const code = limitReached(this.context.limits, {
      usage,
      before: conversation.usageBefore,
      isLate: this.context.timeIsUp.aborted,
    });
    if (code) await this.emit({ type: "notice", data: { code, message: limitMessages[code] } });
    return code;
  }

  /** One model call. Its events are written when it is whole: what breaks off leaves nothing behind but its usage. */
  private async think(
    interrupt: AbortSignal,
    { mayCallTools }: { mayCallTools: boolean },
  ): Promise<Answer | TurnOutcome | "interrupted"> {
    const { model, instructions, tools } = this.context;
    const delta = (text: string) => this.context.delta(text);
    const messages = this.conversation.read();
    if (messages.length === 0) throw new Failure("harness_failed", "There is no message to work on.");
    const signal = AbortSignal.any([this.halt, interrupt]);
    const onRetry = (retry: Retry) => this.retry(retry);
    const call = await callModel({
      model,
      instructions,
      messages,
      tools,
      mayCallTools,
      signal,
      delta,
      onRetry,
    });
    this.halt.throwIfAborted();
    if (call.type === "answer") return this.record(call);
    await this.count(call.type === "failed" ? call.usage : undefined);
    if (call.type === "failed") return failedCall(call.error);
    if (call.type === "overflow") return failedCall(new Failure("model_error", call.reason));
    if (!this.context.timeIsUp.aborted) {
      await this.emit({ type: "notice", data: { code: "interrupted", message: interruptMessage } });
    }
    return "interrupted";
  }

  /**
   * The notice tells who reads along that what was said since the last event is void. The usage is told with that of the
   * next try: where it stands in the log says what belongs to one step.
   */
  private async retry({ attempt, reason, delay_ms, usage }: Retry) {
    if (usage) this.usage = { ...withCall(this.usage, usage, this.context.prices), steps: this.usage.steps };
    const message = `The model's provider failed (try ${attempt}): ${reason} The next try comes in ${Math.ceil(delay_ms / 1000)} s.`;
    await this.emit({ type: "notice", data: { code: "model_retry", message } });
  }

  /** The order of these events means something: see conversation.ts. */
  private async record(answer: Answer): Promise<Answer> {
    const { text, reasoning, calls, warnings, isCut, usage } = answer;
    const isLast = calls.length === 0;
    for (const message of warnings) {
      if (this.conversation.hasNotice(message)) continue;
      await this.emit({ type: "notice", data: { code: "model_warning", message } });
    }
    if (reasoning) await this.emit({ type: "reasoning", data: { text: reasoning } });
    if (text && !isLast) await this.emit({ type: "message.agent", data: { text } });
    await this.count(usage);
    if (isCut) {
      const message = "The model stopped at its limit for one answer; the answer may be cut.";
      await this.emit({ type: "notice", data: { code: "answer_cut", message } });
    }
    if (isLast) await this.emit({ type: "message.agent", data: { text } });
    return answer;
  }

  private async count(usage?: Answer["usage"]) {
    const seconds = this.context.usage.run_seconds + (performance.now() - this.began) / 1000;
    const run_seconds = Math.round(seconds * 1000) / 1000;
    this.usage = { ...withCall(this.usage, usage, this.context.prices), run_seconds };
    await this.emit({ type: "usage.updated", data: this.usage });
  }

  private async act({ tool: name, input, error }: ToolCall, interrupt: AbortSignal) {
    this.halt.throwIfAborted();
    const call_id = this.conversation.nextCallId();
    const tool = this.context.tools.find((one) => one.name === name);
    const { background } = this;
    const { workspace } = this.context;
    const signal = AbortSignal.any([this.halt, interrupt]);
    const emit = (event: AgentEvent) => this.emit(event);
    const context = { call_id, workspace, background, signal, emit };
    const reason = this.context.timeIsUp.aborted ? "the time is up" : "a message of the user interrupted you";
    const refusal = interrupt.aborted ? `Not begun: ${reason}.` : error;

    if (tool?.recordsItself && refusal === undefined) {
      await tool.run(input, context);
      return;
    }
    await this.emit({ type: "tool.called", data: { call_id, tool: name, input } });
    const result: ToolResult =
      tool && refusal === undefined
        ? await tool.run(input, context).catch((reason: unknown) => {
            this.halt.throwIfAborted();
            if (reason instanceof Failure) throw reason;
            return { output: messageOf(reason), is_error: true as const };
          })
        : { output: refusal ?? `There is no tool ${name}.`, is_error: true as const };
    const { images = [], ...said } = result;
    const kept = await Promise.all(
      images.map((image, index) => this.keepImage(image, `${call_id}-${index + 1}`)),
    );
    const shown = kept.length > 0 ? { images: kept } : {};
    await this.emit({ type: "tool.returned", data: { call_id, tool: name, ...said, ...shown } });
  }

  private async keepImage({ mime_type, data }: Image, name: string) {
    return { artifact_id: await this.held(this.context.files.keep({ name, mime_type, data })), mime_type };
  }

  private async emit(event: AgentEvent) {
    this.halt.throwIfAborted();
    const stored = storable(event);
    await this.held(this.context.emit(stored));
    this.conversation.add(stored);
  }

  /** Where the worker is refused, its lease is lost, and whatever runs must stop. */
  private async held<T>(call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (error) {
      this.lose(error);
      throw error;
    }
  }
}
