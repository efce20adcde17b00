import { randomUUID } from "node:crypto";
import { Failure, messageOf } from "@outrider/agent/failure";
import type { CallOptions } from "@outrider/agent/models/provider";
import { ScriptProgress } from "@outrider/agent/models/scripted/script-progress";
import { scriptedModel } from "@outrider/agent/models/scripted/scripted-model";
import { type CallTokens, noTokens } from "@outrider/agent/turn/usage";
import type { WireFormat } from "@outrider/contract/harness";
import { formats } from "../formats/formats.ts";
import { fullName, isCallOf, pollRunningCommand, toAgentCall } from "./agent-tools.ts";
import { anthropicMessages } from "./anthropic-messages.ts";
import type { ResponsePart, ScriptedFormat, ScriptedRequest } from "./format.ts";
import { gemini } from "./gemini.ts";
import { objectOf } from "./json.ts";
import { openaiChat } from "./openai-chat.ts";
import { openaiResponses } from "./openai-responses.ts";
import { sampleOf } from "./sample.ts";

export interface ScriptedAnswer {
  status: number;
  headers: Record<string, string>;
  body: AsyncIterable<string>;
  /** Resolves when the body has been read to its end, or reading it has stopped. It never rejects. */
  tokens: Promise<CallTokens>;
  /** The failure that the script asked for. */
  failure?: Failure;
}

const scriptedFormats: Record<WireFormat, ScriptedFormat> = {
  "anthropic-messages": anthropicMessages,
  "openai-chat": openaiChat,
  "openai-responses": openaiResponses,
  gemini,
};

/**
 * Answers a request of an agent as the scripted model, in the request's own wire format, so that every agent works
 * offline. The steps of the script become calls of the agent's own tools. A malformed request gets an error of the
 * format; only an abort of the signal throws.
 */
export async function answerScripted(
  format: WireFormat,
  { path, body }: { path: string; body: unknown },
  { signal }: { signal: AbortSignal },
): Promise<ScriptedAnswer> {
  const wire = scriptedFormats[format];
  try {
    const request = wire.parse(objectOf(body), path);
    const count = wire.countTokens?.(path, countWords(JSON.stringify(request.prompt)));
    if (count) return jsonAnswer(200, count);
    const context = { id: newId(), model: request.model, createdAt: now() };
    const parts = respond(request, signal);
    if (request.isStreaming && !failsNext(request))
      return streamedAnswer(parts, (read) => wire.stream(read, context));
    const all: ResponsePart[] = [];
    for await (const part of parts) all.push(part);
    return jsonAnswer(200, wire.whole(all, context), tokensOf(all));
  } catch (error) {
    signal.throwIfAborted();
    const answer = jsonAnswer(400, formats[format].errorBody(400, messageOf(error)));
    return error instanceof Failure ? { ...answer, failure: error } : answer;
  }
}

async function* respond(
  { prompt, workingFolder, tools, canCall, outputSchema }: ScriptedRequest,
  signal: AbortSignal,
): AsyncGenerator<ResponsePart> {
  const canCallTools = canCall && tools.length > 0;
  // An agent that asks for an object wants a title or a decision about the conversation, not the next step.
  const sample = outputSchema === undefined ? undefined : JSON.stringify(sampleOf(outputSchema));
  const options = callOptions({ prompt, tools, canCall: canCallTools && sample === undefined, signal });
  const poll = options.toolChoice?.type === "auto" ? pollRunningCommand(prompt, tools) : undefined;
  if (poll) {
    yield { type: "call", id: newId(), ...poll };
    yield { type: "end", tokens: { ...noTokens, input: countWords(JSON.stringify(prompt)), output: 1 } };
    return;
  }
  const { stream } = await scriptedModel({ isCallOf }).doStream(options);
  if (sample !== undefined) yield { type: "text", delta: sample };
  for await (const part of stream) {
    if (part.type === "text-delta" && sample === undefined) yield { type: "text", delta: part.delta };
    if (part.type === "tool-call") {
      const call = toAgentCall(
        { tool: part.toolName, input: objectOf(JSON.parse(part.input)) },
        { tools, workingFolder },
      );
      // Ids are unique across restarts of a session, in which agents remember earlier ones.
      yield { type: "call", id: newId(), ...call };
    }
    if (part.type === "finish") {
      const { inputTokens, outputTokens } = part.usage;
      const tokens = { ...noTokens, input: inputTokens.total ?? 0, output: outputTokens.total ?? 0 };
      yield { type: "end", tokens };
    }
  }
}

function callOptions({
  prompt,
  tools,
  canCall,
  signal,
}: Pick<ScriptedRequest, "prompt" | "tools" | "canCall"> & { signal: AbortSignal }): CallOptions {
  return {
    prompt,
    abortSignal: signal,
    tools: tools.map((tool) => ({ type: "function", name: fullName(tool), inputSchema: {} })),
    toolChoice: { type: canCall ? "auto" : "none" },
  };
}

/** A failure has to become an error response, which is impossible after the first byte of a stream. */
function failsNext({ prompt, tools, canCall, outputSchema }: ScriptedRequest): boolean {
  if (!canCall || tools.length === 0 || outputSchema !== undefined) return false;
  const { pending } = new ScriptProgress(prompt, isCallOf);
  const end = pending.find(({ type }) => type === "call" || type === "fail");
  return end?.type === "fail";
}

function streamedAnswer(
  parts: AsyncIterable<ResponsePart>,
  write: (parts: AsyncIterable<ResponsePart>) => AsyncIterable<string>,
): ScriptedAnswer {
  const { promise, resolve } = Promise.withResolvers<CallTokens>();
  async function* read() {
    const seen: ResponsePart[] = [];
    try {
      for await (const part of parts) {
        seen.push(part);
        yield part;
      }
    } finally {
      resolve(tokensOf(seen));
    }
  }
  return {
    status: 200,
    headers: { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" },
    body: write(read()),
    tokens: promise,
  };
}

function jsonAnswer(status: number, value: object, tokens: CallTokens = noTokens): ScriptedAnswer {
  async function* body() {
    yield JSON.stringify(value);
  }
  return {
    status,
    headers: { "content-type": "application/json" },
    body: body(),
    tokens: Promise.resolve(tokens),
  };
}

function tokensOf(parts: ResponsePart[]): CallTokens {
  const end = parts.at(-1);
  return end?.type === "end" ? end.tokens : noTokens;
}

function newId(): string {
  return randomUUID().replaceAll("-", "");
}

function now(): number {
  return Math.floor(Date.now() / 1000);
}

function countWords(text: string): number {
  return text.split(/\s+/).length;
}
