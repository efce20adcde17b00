/**
 * The agent loop: one turn of a run.
 *
 * Each iteration examines the current conversation and then makes at most one model call:
 *
 * 1. If the agent has asked a question, called `finish` or sent its final message, the turn ends.
 * 2. Take waiting user messages. Warn an agent that repeats the same calls, and fail the turn if it continues.
 * 3. Check the budget, step and time limits. At a limit, a notice asks the agent to wrap up, and the agent gets one last
 *    call without tools.
 * 4. If the conversation nearly fills the model's context, compact it and start over.
 * 5. Call the model. An interrupted or overflowed call starts over; a failed one ends the turn.
 * 6. Run the tools that the model called (see run-calls.ts).
 *
 * Invariants:
 * - The log is the only state. Every event is emitted through `emit`, which stores it and adds the stored event to the
 *   conversation. Storing redacts secrets, so the model reads the same text whether the turn runs without interruption
 *   or restarts from the log after a crash.
 * - The text and calls of a model call are emitted only when the call is complete. An incomplete call records only its
 *   usage.
 * - Every model call is followed by exactly one `usage.updated`, and its reservation in the shared budget is settled.
 * - Once `halt` aborts (cancel, lost lease, drain), nothing more is emitted.
 */

import type { PrivateData } from "@outrider/contract/private-data";
import type { TurnOutcome } from "@outrider/contract/worker";
import { Checks } from "../checks/checks.ts";
import {
  compactionPrompt,
  MAX_COMPACTIONS,
  planCompaction,
  type Summary,
} from "../conversation/compaction.ts";
import { ContextWindow } from "../conversation/context-window.ts";
import { ANSWER_MISSING, Conversation } from "../conversation/conversation.ts";
import { ConversationImages } from "../conversation/images.ts";
import { INTERRUPTED_MESSAGE, type LimitCode, LOOP_DETECTED, limitMessages } from "../conversation/notes.ts";
import { estimateTokens, estimateToolTokens } from "../conversation/tokens.ts";
import type { AgentEvent, LogEvent } from "../event.ts";
import { Failure, failedOutcome } from "../failure.ts";
import { familyOf } from "../instructions/family.ts";
import { LinkedSignal } from "../linked-signal.ts";
import { callModel, type ModelResponse, type Retry, type ToolCall } from "../models/model-call.ts";
import { replayKey } from "../models/replay.ts";
import { createStructuredAnswer, FINISH, type StructuredAnswer } from "../tools/finish.ts";
import type { Tool } from "../tools/tool.ts";
import { BackgroundCommands } from "./background-commands.ts";
import { KnownFiles } from "./known-files.ts";
import { LoopDetector } from "./loop-detector.ts";
import { recordResponse } from "./record-response.ts";
import { retryNotice } from "./retry-notice.ts";
import { runCalls } from "./run-calls.ts";
import { Spending } from "./spending.ts";
import type { TurnContext } from "./turn-context.ts";
import {
  budgetLeft,
  type CallTokens,
  callTokens,
  costOf,
  isBudgetSpent,
  limitOutcome,
  limitReached,
  noTokens,
  type TurnUsage,
} from "./usage.ts";

/** Used for the last call at a limit, which cannot be interrupted. */
const neverAborted = new AbortController().signal;

/** The maximum number of times that an agent is asked to correct a missing or invalid answer. */
export const MAX_CORRECTIONS = 3;
const answerMissingMessage = "The agent ended without the required answer and was asked to give it.";

export class Turn {
  readonly #context: TurnContext;
  readonly #halt: AbortSignal;
  readonly #onLeaseLost: (error: unknown) => void;
  readonly #conversation: Conversation;
  readonly #background: BackgroundCommands;
  readonly #structuredAnswer: StructuredAnswer | undefined;
  readonly #tools: readonly Tool[];
  readonly #images: ConversationImages;
  readonly #spending: Spending;
  readonly #window: ContextWindow;
  readonly #loops: LoopDetector;
  readonly #knownFiles: KnownFiles | undefined;
  readonly #checks: Checks;

  constructor(context: TurnContext, halt: AbortSignal, onLeaseLost: (error: unknown) => void) {
    this.#context = context;
    this.#halt = halt;
    this.#onLeaseLost = onLeaseLost;
    const { output_schema, tools, history, files, model_facts, usage, prices, budget } = context;
    this.#spending = new Spending({ usage, prices, budget, maxOutputTokens: model_facts.max_output_tokens });
    this.#structuredAnswer = output_schema && createStructuredAnswer(output_schema);
    this.#tools = this.#structuredAnswer ? [...tools, this.#structuredAnswer.tool] : tools;
    this.#conversation = new Conversation(history, { mustFinish: this.#structuredAnswer !== undefined });
    this.#checks = new Checks(context.checks ?? []);
    this.#loops = new LoopDetector(history);
    if (!familyOf(context.model_id).overwrites_unread_files)
      this.#knownFiles = new KnownFiles(history, context.workspace);
    const overhead = estimateTokens(context.instructions) + estimateToolTokens(this.#tools);
    this.#window = new ContextWindow(this.#conversation, { capacity: model_facts, overhead });
    this.#images = new ConversationImages({ files, supportsImages: model_facts.supports_images });
    const emit = async (event: AgentEvent) => void (await this.#emit(event));
    this.#background = new BackgroundCommands({ workspace: context.workspace, emit, signal: halt });
  }

  async run(): Promise<TurnOutcome> {
    try {
      return await this.#loop();
    } finally {
      await this.#background.stopAll();
    }
  }

  async #loop(): Promise<TurnOutcome> {
    await this.#structuredAnswer?.checkSchema(this.#halt);
    await this.#start();
    for (;;) {
      const outcome = await this.#checkEnd();
      if (outcome) return outcome;
      await this.#takeMessages();
      await this.#checkLoop();
      const { max_cost_usd } = this.#context.limits;
      if (isBudgetSpent(max_cost_usd, this.#turnUsage())) return limitOutcome("budget_exceeded");
      const limit = await this.#checkLimits();
      using interruption = limit
        ? undefined
        : new LinkedSignal(this.#context.interrupt(), this.#context.timeIsUp);
      const interrupt = interruption?.signal ?? neverAborted;
      if (this.#window.needsCompaction) {
        await this.#compact(interrupt, limit);
        continue;
      }
      const response = await this.#callModel(interrupt, limit);
      if (response === "again") continue;
      if (response.type !== "response") return limit ? limitOutcome(limit) : response;
      await this.#runCalls(response.calls, interrupt);
      if (limit) return (await this.#checkEnd()) ?? limitOutcome(limit);
    }
  }

  async #start() {
    const { instructions, model_id } = this.#context;
    const { started } = this.#conversation;
    if (started?.instructions === instructions && started.model_id === model_id) return;
    await this.#emit({ type: "run.started", data: { instructions, model_id } });
  }

  async #takeMessages() {
    this.#halt.throwIfAborted();
    const messages = await this.#reportLoss(this.#context.takeMessages());
    for (const { followup_id, message, mode, attachments } of messages) {
      const files = attachments ? { attachments } : {};
      const event: LogEvent = {
        type: "message.user",
        data: { text: message, followup_id, mode, ...files },
      };
      this.#conversation.add(event);
      this.#loops.add(event);
    }
    this.#halt.throwIfAborted();
  }

  /** Returns the turn's outcome if the agent is done. Asks for a correction if a required answer is missing. */
  async #checkEnd(): Promise<TurnOutcome | undefined> {
    const structuredAnswer = this.#structuredAnswer;
    const conversation = this.#conversation;
    const { end, corrections, wrapUp } = conversation;
    if (end?.type === "question") return { type: "blocked", question: end.question };
    if (end?.type === "answer" && structuredAnswer) {
      const output = structuredAnswer.answerOf(end.input);
      return { type: "succeeded", text: end.text || JSON.stringify(output), output };
    }
    if (corrections.length > MAX_CORRECTIONS) return invalidAnswer(corrections.at(-1));
    if (end?.type !== "message") return undefined;
    if (wrapUp) return limitOutcome(wrapUp);
    if (!structuredAnswer) return { type: "succeeded", text: end.text };
    if (corrections.length === MAX_CORRECTIONS) return invalidAnswer("It ended without an answer.");
    await this.#emit({ type: "notice", data: { code: ANSWER_MISSING, message: answerMissingMessage } });
    return undefined;
  }

  /** Warns an agent that repeats the same calls. Throws a Failure if it did not stop after a warning. */
  async #checkLoop() {
    const loop = this.#loops.check();
    if (loop?.isOver) throw new Failure("harness_failed", `${loop.message}. The turn was ended.`);
    if (loop) await this.#emit({ type: "notice", data: { code: LOOP_DETECTED, message: loop.message } });
  }

  /** Returns the limit that the turn has reached, if any. The first time, a notice asks the agent to wrap up. */
  async #checkLimits() {
    const conversation = this.#conversation;
    if (conversation.wrapUp) return conversation.wrapUp;
    const code = limitReached(this.#context.limits, this.#turnUsage());
    if (code) await this.#emit({ type: "notice", data: { code, message: limitMessages[code] } });
    return code;
  }

  #turnUsage(): TurnUsage {
    const spending = this.#spending;
    const conversation = this.#conversation;
    const context = this.#context;
    const window = this.#window;
    const { usage, lastCall, prices } = spending;
    const isTimedOut = context.timeIsUp.aborted;
    return {
      usage,
      before: conversation.usageBefore,
      isTimedOut,
      prices,
      nextInput: window.nextInput,
      lastCall,
    };
  }

  /**
   * Shortens the conversation. The loop then starts over, because messages may have arrived or a limit may have been
   * reached.
   */
  async #compact(interrupt: AbortSignal, limit: LimitCode | undefined) {
    const context = this.#context;
    const conversation = this.#conversation;
    const window = this.#window;
    const { compactions, capacity, nextInput: requestTokens } = window;
    // A summary costs a model call. That is not worthwhile for a final message, and the last compaction must not depend
    // on one.
    const price = costOf({ ...noTokens, input: 2 * requestTokens }, context.prices);
    const isAffordable = budgetLeft(context.limits.max_cost_usd, this.#turnUsage()) > price;
    const maySummarize =
      !limit &&
      isAffordable &&
      compactions + 1 < MAX_COMPACTIONS &&
      (await this.#reserve(requestTokens)) === undefined;
    const data = await planCompaction({
      entries: conversation.allEntries(),
      capacity,
      requestTokens,
      compactions,
      summarize: maySummarize ? (text) => this.#summarize(text, interrupt) : undefined,
    });
    if (data === "interrupted") return;
    window.recordCompaction();
    await this.#emit({ type: "compacted", data });
  }

  /** Reserves the cost of the next call. Returns the turn's outcome if the budget does not allow the call. */
  async #reserve(inputTokens: number): Promise<TurnOutcome | undefined> {
    const rejection = await this.#reportLoss(this.#spending.reserve(inputTokens));
    this.#halt.throwIfAborted();
    return rejection === undefined
      ? undefined
      : { type: "failed", error_code: "budget_exceeded", message: rejection };
  }

  async #summarize(transcript: string, interrupt: AbortSignal): Promise<Summary> {
    using stop = new LinkedSignal(this.#halt, interrupt);
    const result = await callModel({
      model: this.#context.model,
      instructions: compactionPrompt,
      messages: [{ role: "user", content: transcript }],
      tools: [],
      mayCallTools: false,
      signal: stop.signal,
      delta: () => {},
      onRetry: (retry) => this.#recordRetry(retry),
    });
    this.#halt.throwIfAborted();
    switch (result.type) {
      case "response":
        await this.#recordUsage(callTokens(result.usage));
        return { text: result.text };
      case "aborted":
        await this.#recordUsage(
          result.usage ? callTokens(result.usage) : { ...noTokens, input: estimateTokens(transcript) },
        );
        return "interrupted";
      case "failed":
        await this.#recordUsage(callTokens(result.usage));
        return "failed";
      case "overflow":
        await this.#recordUsage(noTokens);
        return "overflow";
    }
  }

  /** Makes one model call. Returns the response, the outcome that ends the turn, or "again" to start the loop over. */
  async #callModel(
    interrupt: AbortSignal,
    limit: LimitCode | undefined,
  ): Promise<ModelResponse | TurnOutcome | "again"> {
    const conversation = this.#conversation;
    const context = this.#context;
    const tools = this.#tools;
    const structuredAnswer = this.#structuredAnswer;
    const { model } = context;
    const { instructions } = conversation.started ?? context;
    const images = await this.#images.load(conversation.images);
    const messages = conversation.toMessages(images, replayKey(model));
    if (messages.length === 0) throw new Failure("harness_failed", "The conversation has no messages.");
    const inputTokens = this.#window.nextInput;
    const rejected = await this.#reserve(inputTokens);
    if (rejected) return rejected;
    let streamed = "";
    const delta = (text: string) => {
      streamed += text;
      context.delta(text);
    };
    using stop = new LinkedSignal(this.#halt, interrupt);
    // `finish` may still be called at a limit.
    const mayCallTools = !limit || structuredAnswer !== undefined;
    const onRetry = (retry: Retry) => {
      streamed = "";
      return this.#recordRetry(retry);
    };
    const request = { model, instructions, messages, tools, mayCallTools, signal: stop.signal, delta };
    const result = await callModel({ ...request, onRetry });
    this.#halt.throwIfAborted();
    switch (result.type) {
      case "response": {
        const tokens = callTokens(result.usage);
        this.#spending.lastCall = tokens;
        this.#window.recordAnswer(tokens.input);
        const isAllowed = ({ tool }: ToolCall) => structuredAnswer && tool === FINISH;
        const response = limit ? { ...result, calls: result.calls.filter(isAllowed) } : result;
        const recorded = await recordResponse(
          response,
          {
            conversation,
            emit: (event) => this.#emit(event),
            recordUsage: (used, privateData) => this.#recordUsage(used, privateData),
          },
          { isLast: limit !== undefined },
        );
        return recorded instanceof Failure ? failedOutcome(recorded) : recorded;
      }
      case "overflow":
        await this.#recordUsage(noTokens);
        if (this.#window.isExhausted) throw contextTooSmall(context.model_facts.context_tokens);
        this.#window.recordOverflow(inputTokens);
        await this.#compact(interrupt, limit);
        return "again";
      case "failed":
        await this.#recordUsage(callTokens(result.usage));
        return failedOutcome(result.error);
      case "aborted":
        // The provider charges for an aborted call. Unless it has already reported the usage, we estimate it.
        await this.#recordUsage(
          result.usage
            ? callTokens(result.usage)
            : { ...noTokens, input: inputTokens, output: estimateTokens(streamed) },
        );
        if (!context.timeIsUp.aborted) {
          await this.#emit({ type: "notice", data: { code: "interrupted", message: INTERRUPTED_MESSAGE } });
        }
        return "again";
    }
  }

  /**
   * Emits a notice, which tells clients that the text streamed since the last event must be discarded. The attempt's
   * usage is emitted together with that of the next attempt, because the position of `usage.updated` in the log
   * delimits steps.
   */
  async #recordRetry({ attempt, reason, delay_ms, usage }: Retry) {
    this.#spending.addAttempt(callTokens(usage));
    await this.#emit(retryNotice({ attempt, reason, delay_ms }));
  }

  async #recordUsage(tokens: CallTokens, privateData?: PrivateData) {
    const hidden = privateData ? { private: privateData } : {};
    await this.#emit({ type: "usage.updated", data: this.#spending.addCall(tokens), ...hidden });
    this.#spending.settle();
  }

  async #runCalls(calls: readonly ToolCall[], interrupt: AbortSignal) {
    const { workspace, files } = this.#context;
    await runCalls(calls, {
      tools: this.#tools,
      interrupt,
      halt: this.#halt,
      nextCallId: () => this.#conversation.nextCallId(),
      rejectionOf: ({ error }) => (interrupt.aborted ? `Not started: ${this.#interruptReason}.` : error),
      shared: {
        workspace,
        background: this.#background,
        knownFiles: this.#knownFiles,
        checks: this.#checks,
        emit: async (event) => void (await this.#emit(event)),
        storeArtifact: (file) => this.#reportLoss(files.storeArtifact(file)),
      },
    });
  }

  get #interruptReason(): string {
    return this.#context.timeIsUp.aborted
      ? "the turn reached its time limit"
      : "a user message interrupted you";
  }

  /** Stores an event and adds it to the conversation as stored. */
  async #emit<E extends AgentEvent>(event: E): Promise<E> {
    this.#halt.throwIfAborted();
    const stored = await this.#reportLoss(this.#context.emit(event));
    this.#conversation.add(stored);
    this.#loops.add(stored);
    this.#knownFiles?.add(stored);
    return stored as E;
  }

  /** Stops the turn if the server rejects the worker's request, because the lease is then lost. */
  async #reportLoss<T>(request: Promise<T>): Promise<T> {
    try {
      return await request;
    } catch (error) {
      this.#onLeaseLost(error);
      throw error;
    }
  }
}

export function invalidAnswer(problem = ""): TurnOutcome {
  const message = `The agent's answer did not match output_schema after ${MAX_CORRECTIONS + 1} attempts. ${problem}`;
  return { type: "failed", error_code: "output_invalid", message };
}

function contextTooSmall(context_tokens: number): Failure {
  const message = `The conversation does not fit in the model's context of ${context_tokens} tokens, even after compaction.`;
  return new Failure("model_request_rejected", `${message} Choose a model with a larger context.`);
}
