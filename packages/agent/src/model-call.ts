import {
  type FinishReason,
  jsonSchema,
  type LanguageModel,
  type LanguageModelUsage,
  type ModelMessage,
  streamText,
  type ToolSet,
  tool,
  zodSchema,
} from "ai";
import { Failure, messageOf } from "./failure.ts";
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

export interface ModelCall {
  model: LanguageModel;
  instructions: string;
  messages: ModelMessage[];
  tools: readonly Tool[];
  mayCallTools: boolean;
  signal: AbortSignal;
  delta(text: string): void;
}

/** One model call, nothing hidden behind it: no further steps, no tool carried out. Retries with back-off belong here. */
export async function callModel(
  call: ModelCall,
): Promise<Answer | { type: "aborted" } | { type: "overflow" } | { type: "failed"; error: unknown }> {
  try {
    const answer = await receive(call);
    return call.signal.aborted ? { type: "aborted" } : answer;
  } catch (error) {
    return call.signal.aborted ? { type: "aborted" } : { type: "failed", error };
  }
}

/** The whole answer, or an error. */
async function receive(call: ModelCall): Promise<Answer> {
  const { model, instructions, messages, tools, mayCallTools, signal } = call;
  const { stream } = streamText({
    model,
    instructions,
    messages,
    tools: toolSet(tools),
    // Some providers refuse a conversation with tool calls in it when no tools are declared.
    toolChoice: mayCallTools ? "auto" : "none",
    abortSignal: signal,
    maxRetries: 0,
    onError: () => {},
  });
  const answer = { type: "answer" as const, text: "", reasoning: "", isCut: false };
  const calls: ToolCall[] = [];
  let warnings: string[] = [];
  let usage: LanguageModelUsage | undefined;
  const say = (text: string) => {
    answer.text += text;
    call.delta(text);
  };
  for await (const part of stream) {
    signal.throwIfAborted();
    switch (part.type) {
      case "start-step":
        warnings = part.warnings.map(warningText);
        break;
      case "text-start":
        if (answer.text !== "") say("\n\n");
        break;
      case "text-delta":
        say(part.text);
        break;
      case "reasoning-delta":
        answer.reasoning += part.text;
        break;
      case "tool-call":
        calls.push(toolCall(part));
        break;
      case "finish-step":
        refuseHalf(part);
        answer.isCut = part.finishReason === "length";
        usage = part.usage;
        break;
      case "error":
        throw part.error;
    }
  }
  if (!usage) throw brokenOff();
  return { ...answer, calls, warnings, usage };
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
function refuseHalf({
  finishReason,
  rawFinishReason,
}: {
  finishReason: FinishReason;
  rawFinishReason: string | undefined;
}) {
  if (finishReason === "content-filter")
    throw new Failure("model_error", "The provider's filter stopped the answer.");
  const isHalf = finishReason === "other" && rawFinishReason === undefined;
  if (isHalf || finishReason === "error" || finishReason === "interrupted") throw brokenOff();
}

function brokenOff(): Failure {
  return new Failure("model_error", "The model's answer broke off.");
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
