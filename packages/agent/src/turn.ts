import type { SentFile } from "@outrider/contract/event";
import type { FollowupMode } from "@outrider/contract/followup";
import type { ModelPrices } from "@outrider/contract/model";
import type { RunUsage } from "@outrider/contract/run";
import type { ModelWork, TurnOutcome } from "@outrider/contract/worker";
import { act } from "./act.ts";
import { BackgroundCommands } from "./background.ts";
import { compaction, compactionPrompt, MAX_SQUEEZES, type Summary } from "./compaction.ts";
import { ContextWindow } from "./context-window.ts";
import { ANSWER_MISSING, Conversation } from "./conversation.ts";
import { type AgentEvent, type LogEvent, storable } from "./event.ts";
import { Failure, failedCall } from "./failure.ts";
import type { RunFiles } from "./files.ts";
import { Ledger, type SharedBudget } from "./ledger.ts";
import { type Answer, callModel, type Retry, type ToolCall } from "./model-call.ts";
import type { ProviderModel } from "./models/provider.ts";
import type { LimitCode } from "./notes.ts";
import { Pictures } from "./pictures.ts";
import { tokensIn, toolTokens } from "./tokens.ts";
import { type AnswerForm, answerForm, FINISH } from "./tools/finish.ts";
import type { Tool } from "./tools/tool.ts";
import {
  budgetLeft,
  costOf,
  isSpent,
  limitEnd,
  limitReached,
  nothingSpent,
  type Spent,
  spentBy,
} from "./usage.ts";
import type { Workspace } from "./workspace.ts";

export interface TurnContext {
  model: ProviderModel;
  model_id: string;
  model_facts: Pick<ModelWork, "context_tokens" | "max_output_tokens" | "sees_images">;
  prices?: ModelPrices | undefined;
  tools: readonly Tool[];
  /** The assembled whole; see prompt.ts. */
  instructions: string;
  /** The JSON Schema that the final answer must fit, where there is one. */
  output_schema?: Record<string, unknown> | undefined;
  /** The run's whole log so far. Nothing else is remembered from one turn, attempt or call of `runTurn` to the next. */
  history: readonly LogEvent[];
  workspace: Workspace;
  files: RunFiles;
  /** Resolves when the event is accepted for writing. Rejects when the lease is lost: the turn stops at once. */
  emit(event: AgentEvent): Promise<void>;
  /** What the model is just saying. Best effort, never stored: the whole follows as an event. */
  delta(text: string): void;
  /** Asked before every model call. What it answers already stands in the log as `message.user`. Rejects as `emit` does. */
  takeMessages(): Promise<
    { followup_id: string; message: string; mode: FollowupMode; attachments?: SentFile[] | undefined }[]
  >;
  /** Aborted as long as a message in mode `interrupt` waits to be taken; a new one afterwards. */
  interrupt(): AbortSignal;
  /** Aborts when the turn's time is up: the step at work is stopped and the agent may speak once more. */
  timeIsUp: AbortSignal;
  /** For this turn alone. Steps are model calls. */
  limits: { max_steps: number; max_cost_usd?: number | undefined };
  /** Dollars that are shared with other runs. A call of a model with prices is begun only after it has been set aside. */
  budget?: SharedBudget | undefined;
  /** Of the run so far, this turn's earlier attempts included. */
  usage: RunUsage;
  /** Cancel, lost lease, drain, time-out: the turn stops within milliseconds and writes nothing more. */
  signal: AbortSignal;
}

/** The last call at a limit is nobody's to interrupt. */
const never = new AbortController().signal;

/** So often an agent is told that its answer has the wrong form, or is missing. */
const MAX_CORRECTIONS = 3;
const answerMissingMessage =
  "The agent ended without the answer that was asked for, and was told to give it.";

const interruptMessage = "A message interrupted the agent while it was thinking.";

const limitMessages: Record<LimitCode, string> = {
  step_limit_exceeded: "The turn has used up its steps. The agent was told to wrap up.",
  budget_exceeded: "The turn has used up its budget. The agent was told to wrap up.",
  timeout: "The turn has used up its time. The agent was told to wrap up.",
};

export class Turn {
  private readonly context: TurnContext;
  private readonly halt: AbortSignal;
  private readonly lose: (error: unknown) => void;
  private readonly conversation: Conversation;
  private readonly background: BackgroundCommands;
  private readonly form: AnswerForm | undefined;
  private readonly tools: readonly Tool[];
  private readonly pictures: Pictures;
  private readonly ledger: Ledger;
  private readonly window: ContextWindow;

  constructor(context: TurnContext, halt: AbortSignal, lose: (error: unknown) => void) {
    this.context = context;
    this.halt = halt;
    this.lose = lose;
    const { output_schema, tools, history, files, model_facts, usage, prices, budget } = context;
    this.ledger = new Ledger({ usage, prices, budget, maxOutputTokens: model_facts.max_output_tokens });
    this.form = output_schema && answerForm(output_schema);
    this.tools = this.form ? [...tools, this.form.tool] : tools;
    this.conversation = new Conversation(history, { mustFinish: this.form !== undefined });
    const overhead = tokensIn(context.instructions) + toolTokens(this.tools);
    this.window = new ContextWindow(this.conversation, { capacity: model_facts, overhead });
    this.pictures = new Pictures({ files, seesImages: model_facts.sees_images });
    const emit = (event: AgentEvent) => this.emit(event);
    this.background = new BackgroundCommands({ workspace: context.workspace, emit, signal: halt });
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
      const ended = await this.meetEnd();
      if (ended) return ended;
      await this.takeMessages();
      const { max_cost_usd } = this.context.limits;
      if (isSpent(max_cost_usd, this.standing())) return limitEnd("budget_exceeded");
      const limit = await this.meetLimits();
      const interrupt = limit ? never : AbortSignal.any([this.context.interrupt(), this.context.timeIsUp]);
      if (this.window.isTight) {
        await this.makeRoom(interrupt, limit);
        continue;
      }
      const answer = await this.think(interrupt, limit);
      if (answer === "again") continue;
      if (answer.type !== "answer") return limit ? limitEnd(limit) : answer;
      for (const call of answer.calls) await this.act(call, interrupt);
      if (limit) return (await this.meetEnd()) ?? limitEnd(limit);
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
    for (const { followup_id, message, mode, attachments } of await this.held(this.context.takeMessages())) {
      const files = attachments ? { attachments } : {};
      this.conversation.add({ type: "message.user", data: { text: message, followup_id, mode, ...files } });
    }
    this.halt.throwIfAborted();
  }

  /** How the turn ends where the agent has nothing left to do; an answer in the wrong form is no end at first. */
  private async meetEnd(): Promise<TurnOutcome | undefined> {
    const { form, conversation } = this;
    const { end, corrections, wrapUp } = conversation;
    if (end?.type === "question") return { type: "blocked", question: end.question };
    if (end?.type === "answer" && form) {
      const output = form.answerOf(end.input);
      return { type: "succeeded", text: end.words || JSON.stringify(output), output };
    }
    if (corrections.length > MAX_CORRECTIONS) return unfit(corrections.at(-1));
    if (end?.type !== "words") return undefined;
    if (wrapUp) return limitEnd(wrapUp);
    if (!form) return { type: "succeeded", text: end.words };
    if (corrections.length === MAX_CORRECTIONS) return unfit("It ended without an answer.");
    await this.emit({ type: "notice", data: { code: ANSWER_MISSING, message: answerMissingMessage } });
    return undefined;
  }

  /** At a limit the agent is told so once and may speak once more, without tools. */
  private async meetLimits() {
    const { conversation } = this;
    if (conversation.wrapUp) return conversation.wrapUp;
    const code = limitReached(this.context.limits, this.standing());
    if (code) await this.emit({ type: "notice", data: { code, message: limitMessages[code] } });
    return code;
  }

  private standing() {
    const { ledger, conversation, context, window } = this;
    const { usage, lastCall, prices } = ledger;
    const isLate = context.timeIsUp.aborted;
    return { usage, before: conversation.usageBefore, isLate, prices, nextInput: window.nextInput, lastCall };
  }

  /** Makes the conversation shorter. Afterwards all is looked at again: messages may have come, or a limit. */
  private async makeRoom(interrupt: AbortSignal, limit: LimitCode | undefined) {
    const { context, conversation, window } = this;
    const { squeezes, capacity, nextInput: tokens } = window;
    // The last words are not worth another call, and the last try must not hang on one.
    const price = costOf({ ...nothingSpent, input: 2 * tokens }, context.prices);
    const isPaidFor = budgetLeft(context.limits.max_cost_usd, this.standing()) > price;
    const maySummarise =
      !limit && isPaidFor && squeezes + 1 < MAX_SQUEEZES && (await this.reserve(tokens)) === undefined;
    const data = await compaction({
      entries: conversation.all(),
      capacity,
      tokens,
      squeezes,
      summarise: maySummarise ? (text) => this.summarise(text, interrupt) : undefined,
    });
    if (data === "interrupted") return;
    window.squeezed();
    await this.emit({ type: "compacted", data });
  }

  /** Answers how the turn ends where the next call cannot be paid for. */
  private async reserve(input: number): Promise<TurnOutcome | undefined> {
    const refusal = await this.held(this.ledger.reserve(input));
    this.halt.throwIfAborted();
    return refusal === undefined
      ? undefined
      : { type: "failed", error_code: "budget_exceeded", message: refusal };
  }

  private async summarise(content: string, interrupt: AbortSignal): Promise<Summary> {
    const call = await callModel({
      model: this.context.model,
      instructions: compactionPrompt,
      messages: [{ role: "user", content }],
      tools: [],
      mayCallTools: false,
      signal: AbortSignal.any([this.halt, interrupt]),
      delta: () => {},
      onRetry: (retry) => this.retry(retry),
    });
    this.halt.throwIfAborted();
    switch (call.type) {
      case "answer":
        await this.count(spentBy(call.usage));
        return { text: call.text };
      case "aborted":
        await this.count({ ...nothingSpent, input: tokensIn(content) });
        return "interrupted";
      case "failed":
        await this.count(spentBy(call.usage));
        return "failed";
      case "overflow":
        await this.count(nothingSpent);
        return "overflow";
    }
  }

  /** One model call. Its events are written when it is whole: what breaks off leaves nothing behind but its usage. */
  private async think(
    interrupt: AbortSignal,
    limit: LimitCode | undefined,
  ): Promise<Answer | TurnOutcome | "again"> {
    const { conversation, context, tools, form } = this;
    const { model, instructions } = context;
    const messages = conversation.read(await this.pictures.show(conversation.images));
    if (messages.length === 0) throw new Failure("harness_failed", "There is no message to work on.");
    const input = this.window.nextInput;
    const refused = await this.reserve(input);
    if (refused) return refused;
    let said = "";
    const delta = (text: string) => {
      said += text;
      context.delta(text);
    };
    const signal = AbortSignal.any([this.halt, interrupt]);
    // The answer that was asked for may still be given when nothing else may be done.
    const mayCallTools = !limit || form !== undefined;
    const onRetry = (retry: Retry) => {
      said = "";
      return this.retry(retry);
    };
    const question = { model, instructions, messages, tools, mayCallTools, signal, delta };
    const call = await callModel({ ...question, onRetry });
    this.halt.throwIfAborted();
    switch (call.type) {
      case "answer": {
        const spent = spentBy(call.usage);
        this.ledger.lastCall = spent;
        this.window.answered(spent.input);
        return this.record(
          limit ? { ...call, calls: call.calls.filter(({ tool }) => form && tool === FINISH) } : call,
        );
      }
      case "overflow":
        await this.count(nothingSpent);
        if (this.window.isExhausted) throw tooLong(context.model_facts.context_tokens);
        this.window.overflowed(input);
        await this.makeRoom(interrupt, limit);
        return "again";
      case "failed":
        await this.count(spentBy(call.usage));
        return failedCall(call.error);
      case "aborted":
        // The provider said nothing about the half that came, but it charges for what it read and wrote.
        await this.count({ ...nothingSpent, input, output: tokensIn(said) });
        if (!context.timeIsUp.aborted) {
          await this.emit({ type: "notice", data: { code: "interrupted", message: interruptMessage } });
        }
        return "again";
    }
  }

  /**
   * The notice tells who reads along that what was said since the last event is void. The usage is told with that of the
   * next try: where it stands in the log says what belongs to one step.
   */
  private async retry({ attempt, reason, delay_ms, usage }: Retry) {
    this.ledger.tried(spentBy(usage));
    const message = `Try ${attempt} of the model call failed (${reason}); the next comes in ${Math.ceil(delay_ms / 1000)} s.`;
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
    await this.count(spentBy(usage));
    if (isCut) {
      const message = "The model stopped at its limit for one answer; the answer may be cut.";
      await this.emit({ type: "notice", data: { code: "answer_cut", message } });
    }
    if (isLast) await this.emit({ type: "message.agent", data: { text } });
    return answer;
  }

  private async count(spent: Spent) {
    await this.emit({ type: "usage.updated", data: this.ledger.called(spent) });
    this.ledger.settle();
  }

  private async act(call: ToolCall, interrupt: AbortSignal) {
    this.halt.throwIfAborted();
    const { background, tools, halt, context } = this;
    await act(call, {
      call_id: this.conversation.nextCallId(),
      tool: tools.find(({ name }) => name === call.tool),
      workspace: context.workspace,
      background,
      interrupt,
      halt,
      refusal: interrupt.aborted ? `Not begun: ${this.whyStopped}.` : call.error,
      emit: (event) => this.emit(event),
      keep: (file) => this.held(context.files.keep(file)),
    });
  }

  private get whyStopped(): string {
    return this.context.timeIsUp.aborted ? "the time is up" : "a message of the user interrupted you";
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

function unfit(wrong = ""): TurnOutcome {
  const message = `The agent's answer did not fit output_schema after ${MAX_CORRECTIONS + 1} tries. ${wrong}`;
  return { type: "failed", error_code: "output_invalid", message };
}

function tooLong(context_tokens: number): Failure {
  const message = `The conversation does not fit into the model's ${context_tokens} tokens, however short it is made.`;
  return new Failure("model_error", `${message} Choose a model with a larger context.`);
}
