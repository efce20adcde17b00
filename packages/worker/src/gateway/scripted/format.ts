import type { Prompt } from "@outrider/agent/models/provider";
import type { CallTokens } from "@outrider/agent/turn/usage";
import type { AgentTool } from "./agent-tools.ts";
import type { JsonObject } from "./json.ts";

/** A request, independent of its wire format. */
export interface ScriptedRequest {
  model: string;
  isStreaming: boolean;
  /** User and assistant messages and tool results, without what the agent adds to the user's messages. */
  prompt: Prompt;
  /** The folder in which the agent says it works. */
  workingFolder: string | undefined;
  tools: AgentTool[];
  /** Whether the request allows tool calls. */
  canCall: boolean;
  /** The JSON schema that the response must match. */
  outputSchema?: unknown;
}

export type ResponsePart =
  | { type: "text"; delta: string }
  | { type: "call"; id: string; tool: AgentTool; input: object }
  | { type: "end"; tokens: CallTokens };

export interface ResponseContext {
  id: string;
  model: string;
  /** Seconds since 1970. */
  createdAt: number;
}

/** How one wire format writes requests and responses. */
export interface ScriptedFormat {
  /** Throws an error with a message for the agent if the request is malformed. */
  parse(body: JsonObject, path: string): ScriptedRequest;
  /** Writes the parts as server-sent events. */
  stream(parts: AsyncIterable<ResponsePart>, context: ResponseContext): AsyncIterable<string>;
  /** The response of a request that does not stream. */
  whole(parts: ResponsePart[], context: ResponseContext): object;
  /** The response of a request that only counts tokens, or undefined if the request is not one. */
  countTokens?(path: string, tokens: number): object | undefined;
}

/** Splits the parts of a finished response. */
export function collected(parts: ResponsePart[]) {
  const tokens: CallTokens = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 };
  const calls: Extract<ResponsePart, { type: "call" }>[] = [];
  let text = "";
  for (const part of parts) {
    if (part.type === "text") text += part.delta;
    if (part.type === "call") calls.push(part);
    if (part.type === "end") Object.assign(tokens, part.tokens);
  }
  return { text, calls, tokens };
}

export function namedEvent(type: string, data: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
}

export function dataEvent(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

export function requireList(body: JsonObject, field: string): unknown[] {
  const value = body[field];
  if (!Array.isArray(value)) throw new Error(`${field} must be a list.`);
  return value;
}
