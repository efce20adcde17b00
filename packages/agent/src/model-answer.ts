import {
  type FinishReason,
  jsonSchema,
  type LanguageModel,
  type LanguageModelUsage,
  type ModelMessage,
  streamText,
  type TextStreamPart,
  ToolChoiceViolationError,
  type ToolSet,
  tool,
  zodSchema,
} from "ai";
import { Failure, messageOf } from "./failure.ts";
import { markedInstructions, withCacheMarks } from "./models/caching.ts";
import { BrokenAnswer } from "./models/trouble.ts";
import type { Tool } from "./tools/tool.ts";

// What a provider warns of goes to the transcript, not to the worker's console.
globalThis.AI_SDK_LOG_WARNINGS = false;

export interface ToolCall {
  tool: string;
  input: unknown;
  /** Why it cannot be carried out: there is no such tool, or it takes no such input. */
  error?: string;
}

export interface Answer {
  type: "answer";
  text: string;
  reasoning: string;
  calls: ToolCall[];
  isCut: boolean;
  warnings: string[];
  usage: LanguageModelUsage;
}

export interface Question {
  model: LanguageModel;
  instructions: string;
  messages: ModelMessage[];
  tools: readonly Tool[];
  mayCallTools: boolean;
  signal: AbortSignal;
  delta(text: string): void;
}

/** One try at an answer, as it comes in. Whole or not at all. */
export class Reception {
  private readonly question: Question;
  private text = "";
  private reasoning = "";
  private isCut = false;
  private readonly calls: ToolCall[] = [];
  private warnings: string[] = [];
  /** It calls tools where it may call none: its words count all the same. */
  private isDisobedient = false;

  /** What the try has used, also where it failed; known only when it is over. */
  usage: LanguageModelUsage | undefined;
  /** What went wrong; its usage may still follow. */
  error: unknown;
  private hasBegun = false;
  private thoughts = 0;

  constructor(question: Question) {
    this.question = question;
  }

  /** Throws what the provider threw, or a BrokenAnswer. `alive` is called for each piece. */
  async receive(alive: () => void): Promise<Answer> {
    const { model, instructions, messages, tools, mayCallTools, signal } = this.question;
    const { stream } = streamText({
      model,
      instructions: markedInstructions(instructions),
      messages: withCacheMarks(messages),
      tools: toolSet(tools),
      // Some providers refuse a conversation with tool calls in it when no tools are declared.
      toolChoice: mayCallTools ? "auto" : "none",
      abortSignal: signal,
      maxRetries: 0,
      onError: () => {},
    });
    for await (const part of stream) {
      signal.throwIfAborted();
      this.take(part);
      alive();
    }
    if (this.error !== undefined) throw this.error;
    const { usage, text, reasoning, calls, isCut, warnings } = this;
    if (!usage) throw new BrokenAnswer("it just ended");
    return { type: "answer", text, reasoning, calls: mayCallTools ? calls : [], isCut, warnings, usage };
  }

  /** Whether it reads or thinks, which not every model does aloud. */
  get isPondering(): boolean {
    return !this.hasBegun || this.thoughts > 0;
  }

  private take(part: TextStreamPart<ToolSet>) {
    this.hasBegun ||= /^(text|reasoning|tool-input)-delta$|^tool-call$/.test(part.type);
    switch (part.type) {
      case "start-step":
        this.warnings = part.warnings.map(warningText);
        break;
      case "text-start":
        if (this.text !== "") this.say("\n\n");
        break;
      case "text-delta":
        this.say(part.text);
        break;
      case "reasoning-start":
        this.thoughts += 1;
        break;
      case "reasoning-end":
        this.thoughts -= 1;
        break;
      case "reasoning-delta":
        this.reasoning += part.text;
        break;
      case "tool-call":
        this.calls.push(toolCall(part));
        break;
      case "finish-step":
        this.usage = part.usage;
        this.isCut = part.finishReason === "length";
        this.error ??= this.isDisobedient ? undefined : whyHalf(part, this.text);
        break;
      case "error":
        if (ToolChoiceViolationError.isInstance(part.error)) this.isDisobedient = true;
        else this.error ??= part.error;
        break;
    }
  }

  private say(text: string) {
    this.text += text;
    this.question.delta(text);
  }
}

const toolSets = new WeakMap<readonly Tool[], ToolSet>();

/** Made once for each list of tools: to write their schemas anew takes longer than all else about a short answer. */
function toolSet(tools: readonly Tool[]): ToolSet {
  const known = toolSets.get(tools);
  if (known) return known;
  const made: ToolSet = Object.fromEntries(
    tools.map(({ name, description, input }) => {
      const inputSchema = "jsonSchema" in input ? jsonSchema(input.jsonSchema) : zodSchema(input);
      return [name, tool({ description, inputSchema })];
    }),
  );
  toolSets.set(tools, made);
  return made;
}

/** Providers take only objects as input, also in what they are told they once sent. */
function toolCall(part: {
  toolName: string;
  input: unknown;
  invalid?: boolean | undefined;
  error?: unknown;
}): ToolCall {
  const isObject = typeof part.input === "object" && part.input !== null && !Array.isArray(part.input);
  const input = isObject ? part.input : { unreadable: part.input };
  return { tool: part.toolName, input, ...(part.invalid ? { error: messageOf(part.error) } : {}) };
}

/** A connection that broke looks to the AI SDK like an answer that ended for no reason. */
function whyHalf(
  { finishReason, rawFinishReason }: { finishReason: FinishReason; rawFinishReason: string | undefined },
  said: string,
): Error | undefined {
  if (finishReason === "content-filter") {
    const words = said === "" ? "" : ` Its words: ${said.slice(0, 300)}`;
    return new Failure("model_error", `The model, or its provider's filter, refused to answer.${words}`);
  }
  const isHalf = finishReason === "other" && rawFinishReason === undefined;
  if (!isHalf && finishReason !== "error" && finishReason !== "interrupted") return undefined;
  return new BrokenAnswer(rawFinishReason ?? "it broke off");
}

function warningText(warning: {
  type: string;
  message?: string;
  feature?: string;
  details?: string;
}): string {
  const { type, message, feature, details } = warning;
  return message ?? [`${type}: ${feature ?? "a setting"}`, details].filter(Boolean).join(". ");
}
