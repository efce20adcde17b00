import { jsonSchema, type LanguageModelUsage, type ModelMessage, type ToolSet, tool, zodSchema } from "ai";
import {
  asLanguageModelUsage,
  convertToLanguageModelPrompt,
  parseToolCall,
  prepareToolChoice,
  prepareTools,
} from "ai/internal";
import { Failure, messageOf } from "./failure.ts";
import { markedInstructions, withCacheMarks } from "./models/caching.ts";
import type { ProviderModel, StreamPart } from "./models/provider.ts";
import { BrokenAnswer } from "./models/trouble.ts";
import type { Tool } from "./tools/tool.ts";

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
  model: ProviderModel;
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

  /** What the try has used, also where it failed; known only when it is over. */
  usage: LanguageModelUsage | undefined;
  /** What went wrong; its usage may still follow. */
  error: unknown;
  private hasBegun = false;
  private thoughts = 0;

  constructor(question: Question) {
    this.question = question;
  }

  /**
   * Throws what the provider threw, or a BrokenAnswer. `alive` is called for each piece. It asks the provider itself, by
   * what the AI SDK has for it: `streamText` sends each answer through a dozen streams for what we do not use, and that
   * took longer than all else in a step.
   */
  async receive(alive: () => void): Promise<Answer> {
    const { model, instructions, messages, tools, mayCallTools, signal } = this.question;
    const prompt = await convertToLanguageModelPrompt({
      prompt: { instructions: markedInstructions(instructions), messages: withCacheMarks(messages) },
      supportedUrls: await model.supportedUrls,
      download: undefined,
      provider: model.provider,
    });
    const set = toolSet(tools);
    const declared = await set.prepared;
    const { stream } = await model.doStream({
      prompt,
      ...(declared ? { tools: declared } : {}),
      // Some providers refuse a conversation with tool calls in it when no tools are declared.
      toolChoice: prepareToolChoice({ toolChoice: mayCallTools ? "auto" : "none" }),
      abortSignal: signal,
    });
    for await (const part of stream) {
      signal.throwIfAborted();
      if (part.type === "tool-call") this.calls.push(await readCall(part, set.tools));
      else this.take(part);
      this.hasBegun ||= /^(text|reasoning|tool-input)-delta$|^tool-call$/.test(part.type);
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

  private take(part: StreamPart) {
    switch (part.type) {
      case "stream-start":
        this.warnings = part.warnings.map(warningText);
        break;
      case "text-start":
        if (this.text !== "") this.say("\n\n");
        break;
      case "text-delta":
        this.say(part.delta);
        break;
      case "reasoning-start":
        this.thoughts += 1;
        break;
      case "reasoning-end":
        this.thoughts -= 1;
        break;
      case "reasoning-delta":
        this.reasoning += part.delta;
        break;
      case "finish":
        this.usage = asLanguageModelUsage(part.usage);
        this.isCut = part.finishReason.unified === "length";
        this.error ??= whyHalf(part.finishReason, this.text);
        break;
      case "error":
        this.error ??= part.error;
        break;
    }
  }

  private say(text: string) {
    this.text += text;
    this.question.delta(text);
  }
}

interface Declared {
  tools: ToolSet;
  /** As the provider is told of them. */
  prepared: ReturnType<typeof prepareTools>;
}

const toolSets = new WeakMap<readonly Tool[], Declared>();

/** Made once for each list of tools: to write their schemas anew takes longer than all else about a short answer. */
function toolSet(list: readonly Tool[]): Declared {
  const known = toolSets.get(list);
  if (known) return known;
  const tools: ToolSet = Object.fromEntries(
    list.map(({ name, description, input }) => {
      const inputSchema = "jsonSchema" in input ? jsonSchema(input.jsonSchema) : zodSchema(input);
      return [name, tool({ description, inputSchema })];
    }),
  );
  const made = { tools, prepared: prepareTools({ tools }) };
  toolSets.set(list, made);
  return made;
}

/** Providers take only objects as input, also in what they are told they once sent. */
async function readCall(part: Extract<StreamPart, { type: "tool-call" }>, tools: ToolSet): Promise<ToolCall> {
  const call = await parseToolCall({
    toolCall: part,
    tools,
    repairToolCall: undefined,
    instructions: undefined,
    messages: [],
  });
  const isObject = typeof call.input === "object" && call.input !== null && !Array.isArray(call.input);
  const input = isObject ? call.input : { unreadable: call.input };
  const isBad = "invalid" in call && call.invalid;
  return { tool: call.toolName, input, ...(isBad ? { error: messageOf(call.error) } : {}) };
}

/** A connection that broke looks to the AI SDK like an answer that ended for no reason. */
function whyHalf(
  { unified, raw }: Extract<StreamPart, { type: "finish" }>["finishReason"],
  said: string,
): Error | undefined {
  if (unified === "content-filter") {
    const words = said === "" ? "" : ` Its words: ${said.slice(0, 300)}`;
    return new Failure("model_error", `The model, or its provider's filter, refused to answer.${words}`);
  }
  const isHalf = unified === "other" && raw === undefined;
  const isBroken = isHalf || unified === "error" || unified === "interrupted";
  return isBroken ? new BrokenAnswer(raw ?? "it broke off") : undefined;
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
