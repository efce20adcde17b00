/**
 * Reads the streamed response to one model call attempt.
 *
 * The reader converts the conversation to the provider's format, opens the stream, passes text to `delta` as it
 * arrives, and collects text, reasoning and tool calls. `read` either returns a complete response or throws. It throws
 * the provider's error, or a MalformedResponseError if the stream ended early.
 *
 * The reader calls the provider through the AI SDK's low-level functions instead of `streamText`, which pipes every
 * response through a dozen streams for features that we do not use. Those streams took longer than the rest of a step.
 *
 * Invariants:
 * - `usage` and `error` can still be read after a failure. The provider may report the usage after the error, and the
 *   caller still charges for it.
 * - An invalid tool call is returned with its `error`, so that the model can correct it (see parse-call.ts).
 * - The response is bounded: the number of its calls, the length of its texts and inputs, and its token counts.
 */

import type { Replay } from "@outrider/contract/private-data";
import {
  type FlexibleSchema,
  jsonSchema,
  type LanguageModelUsage,
  type ModelMessage,
  type ToolSet,
  tool,
  zodSchema,
} from "ai";
import {
  asLanguageModelUsage,
  convertToLanguageModelPrompt,
  prepareToolChoice,
  prepareTools,
} from "ai/internal";
import { Failure } from "../failure.ts";
import type { Tool } from "../tools/tool.ts";
import { boundUsage } from "./bounded-usage.ts";
import { cachedInstructions, withCacheBreakpoints } from "./caching.ts";
import { parseCall, type ToolCall } from "./parse-call.ts";
import { PartialUsage, reportsPartialUsage } from "./partial-usage.ts";
import type { ProviderModel, StreamPart } from "./provider.ts";
import { MalformedResponseError } from "./provider-errors.ts";
import { responseLimitError } from "./providers/bounded-response.ts";
import { maySendThinkTags, ThinkTagExtractor } from "./providers/think-tags.ts";
import { ReplayRecorder } from "./replay.ts";

/** The log stores events of up to 2 MiB of text. */
const MAX_CHARACTERS = 2_000_000;
const MAX_CALLS = 200;
/** Gemini's finish reason for a tool call that it could not parse itself. It sends nothing of the call. */
const MALFORMED_CALL = "MALFORMED_FUNCTION_CALL";

export interface ModelResponse {
  type: "response";
  text: string;
  reasoning: string;
  calls: ToolCall[];
  /** How to send this response back to the model. Absent if its provider needs nothing but the texts and the calls. */
  replay?: Replay | undefined;
  /** Whether the model stopped because it reached its output limit. */
  isTruncated: boolean;
  /**
   * Whether a tool call could not be read: it was cut off at the output limit, or the provider could not parse it. The
   * call is not in `calls`.
   */
  unreadableCall?: "cut" | "malformed" | undefined;
  warnings: string[];
  usage: LanguageModelUsage;
}

export interface ModelRequest {
  model: ProviderModel;
  instructions: string;
  messages: ModelMessage[];
  tools: readonly Tool[];
  mayCallTools: boolean;
  signal: AbortSignal;
  delta(text: string): void;
}

export class ResponseReader {
  readonly #request: ModelRequest;
  readonly #replay: ReplayRecorder;
  readonly #partialUsage = new PartialUsage();
  #text = "";
  #reasoning = "";
  #isTruncated = false;
  #isCallMalformed = false;
  /** Whether text followed the last call. */
  #isTextLast = false;
  readonly #calls: ToolCall[] = [];
  #warnings: string[] = [];
  #hasContent = false;
  #characters = 0;
  #inputCharacters = 0;
  #startedCalls = 0;
  #openReasoningBlocks = 0;

  /** The attempt's usage, even if the attempt failed. Set when the stream finishes. */
  usage: LanguageModelUsage | undefined;
  /** The first error in the stream. The usage may still follow it. */
  error: unknown;

  constructor(request: ModelRequest) {
    this.#request = request;
    this.#replay = new ReplayRecorder(request.model);
  }

  /** Reads the whole response. Calls `onPart` after each part of the stream. */
  async read(onPart: () => void): Promise<ModelResponse> {
    const { model, instructions, messages, tools, mayCallTools, signal } = this.#request;
    const prompt = await convertToLanguageModelPrompt({
      prompt: { instructions: cachedInstructions(instructions), messages: withCacheBreakpoints(messages) },
      supportedUrls: await model.supportedUrls,
      download: undefined,
      provider: model.provider,
    });
    const prepared = await prepareToolSet(tools);
    const { stream } = await model.doStream({
      prompt,
      ...(prepared ? { tools: prepared } : {}),
      // Tools are declared even if they may not be called, because some providers otherwise reject a conversation that
      // contains tool calls.
      toolChoice: prepareToolChoice({ toolChoice: mayCallTools ? "auto" : "none" }),
      abortSignal: signal,
      includeRawChunks: reportsPartialUsage(model),
    });
    await this.#readParts(stream.getReader(), onPart);
    if (this.error !== undefined) throw this.error;
    const { usage } = this;
    if (!usage) throw new MalformedResponseError("the stream ended early");
    const unreadableCall = mayCallTools ? this.#dropUnreadableCall() : undefined;
    return {
      type: "response",
      text: this.#text,
      reasoning: this.#reasoning,
      calls: mayCallTools ? this.#calls : [],
      replay: this.#replay.replay,
      isTruncated: this.#isTruncated,
      unreadableCall,
      warnings: this.#warnings,
      usage,
    };
  }

  /** Reads the stream to its end, or cancels it. `for await` would do the same, but takes longer for each part. */
  async #readParts(reader: ReadableStreamDefaultReader<StreamPart>, onPart: () => void) {
    const { model, signal } = this.#request;
    const tags = maySendThinkTags(model) ? new ThinkTagExtractor() : undefined;
    try {
      for (let next = await reader.read(); !next.done; next = await reader.read()) {
        signal.throwIfAborted();
        if (tags) for (const part of tags.push(next.value)) this.#handlePart(part);
        else this.#handlePart(next.value);
        onPart();
      }
    } catch (error) {
      await reader.cancel(error).catch(() => {});
      throw error;
    }
  }

  /**
   * At the output limit, the last call is incomplete even if its input can be parsed: a cut input may look complete, for
   * example if it is empty. The same applies to a call that started but never arrived.
   */
  #dropUnreadableCall(): ModelResponse["unreadableCall"] {
    if (this.#isCallMalformed) return "malformed";
    if (!this.#isTruncated) return undefined;
    if (this.#startedCalls > this.#calls.length) return "cut";
    if (this.#calls.length === 0 || this.#isTextLast) return undefined;
    this.#calls.pop();
    this.#replay.dropLastCall();
    return "cut";
  }

  /** The usage of a response that did not finish, as far as the provider has reported it. */
  get knownUsage(): LanguageModelUsage | undefined {
    const { usage } = this;
    // An aborted request may finish without any token counts.
    const isKnown = usage?.inputTokens !== undefined || usage?.outputTokens !== undefined;
    return isKnown ? usage : this.#partialUsage.read(this.#characters);
  }

  /** Whether the model is still reading its input or reasoning. Many models send nothing during that time. */
  get isReasoning(): boolean {
    return !this.#hasContent || this.#openReasoningBlocks > 0;
  }

  /** Rejects a response that is too large to be stored. */
  #checkLimits(part: StreamPart) {
    if ("delta" in part && typeof part.delta === "string") this.#characters += part.delta.length;
    // Most providers send the input of a call twice: piece by piece, and then as a whole.
    if (part.type === "tool-call") this.#inputCharacters += part.input.length;
    if (part.type === "tool-input-start") this.#startedCalls += 1;
    if (Math.max(this.#characters, this.#inputCharacters) > MAX_CHARACTERS) {
      throw responseLimitError(`has more than ${MAX_CHARACTERS} characters`);
    }
    if (Math.max(this.#startedCalls, this.#calls.length) > MAX_CALLS) {
      throw responseLimitError(`contains more than ${MAX_CALLS} tool calls`);
    }
  }

  #handlePart(part: StreamPart) {
    this.#checkLimits(part);
    this.#hasContent ||= /^(text|reasoning|tool-input)-delta$|^tool-call$/.test(part.type);
    switch (part.type) {
      case "tool-call": {
        const call = parseCall(part, this.#request.tools);
        this.#calls.push(call);
        this.#isTextLast = false;
        this.#replay.addCall(call.tool, part.providerMetadata);
        break;
      }
      case "raw":
        this.#partialUsage.push(part.rawValue);
        break;
      case "stream-start":
        this.#warnings = part.warnings.map(warningText);
        break;
      case "text-start":
        if (this.#text !== "") this.#addText("\n\n");
        this.#replay.begin("text", part.id, this.#text.length, part.providerMetadata);
        break;
      case "text-delta":
        this.#addText(part.delta);
        this.#replay.extend("text", part.id, this.#text.length, part.providerMetadata);
        break;
      case "reasoning-start":
        this.#openReasoningBlocks += 1;
        this.#replay.begin("reasoning", part.id, this.#reasoning.length, part.providerMetadata);
        break;
      case "reasoning-end":
        this.#openReasoningBlocks -= 1;
        this.#replay.annotate(part.id, part.providerMetadata);
        break;
      case "text-end":
        this.#replay.annotate(part.id, part.providerMetadata);
        break;
      case "reasoning-delta":
        this.#reasoning += part.delta;
        this.#replay.extend("reasoning", part.id, this.#reasoning.length, part.providerMetadata);
        break;
      case "finish":
        this.usage = boundUsage(asLanguageModelUsage(part.usage));
        this.#isTruncated = part.finishReason.unified === "length";
        this.#isCallMalformed = part.finishReason.raw === MALFORMED_CALL;
        this.#replay.finish(part.providerMetadata);
        if (!this.#isCallMalformed) this.error ??= finishError(part.finishReason, this.#text);
        break;
      case "error":
        this.error ??= part.error;
        break;
    }
  }

  #addText(text: string) {
    this.#isTextLast = true;
    this.#text += text;
    this.#request.delta(text);
  }
}

/** The tools in the provider's format. */
type PreparedTools = ReturnType<typeof prepareTools>;

const preparedTools = new WeakMap<readonly Tool[], PreparedTools>();

/** Converting a schema takes longer than the rest of a short response, and the tools of all runs share their schemas. */
const inputSchemas = new WeakMap<Tool["input"], FlexibleSchema>();

function inputSchemaOf(input: Tool["input"]): FlexibleSchema {
  const cached = inputSchemas.get(input);
  if (cached) return cached;
  const schema = "jsonSchema" in input ? jsonSchema(input.jsonSchema) : zodSchema(input);
  inputSchemas.set(input, schema);
  return schema;
}

/** Prepares the tools and caches the result per list. */
function prepareToolSet(list: readonly Tool[]): PreparedTools {
  const cached = preparedTools.get(list);
  if (cached) return cached;
  const tools: ToolSet = Object.fromEntries(
    list.map(({ name, description, input }) => [
      name,
      tool({ description, inputSchema: inputSchemaOf(input) }),
    ]),
  );
  const prepared = prepareTools({ tools });
  preparedTools.set(list, prepared);
  return prepared;
}

/**
 * Returns the reason why a finished stream is not a usable response, if there is one. The AI SDK reports a lost
 * connection as "other".
 */
function finishError(
  { unified, raw }: Extract<StreamPart, { type: "finish" }>["finishReason"],
  text: string,
): Error | undefined {
  if (unified === "content-filter") {
    const quote = text === "" ? "" : ` Its response: ${text.slice(0, 300)}`;
    return new Failure(
      "model_request_rejected",
      `The model or its provider's content filter refused to answer.${quote}`,
    );
  }
  const isConnectionLost = unified === "other" && raw === undefined;
  const isIncomplete = isConnectionLost || unified === "error" || unified === "interrupted";
  return isIncomplete ? new MalformedResponseError(raw ?? "the connection was lost") : undefined;
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
