import type { ToolSet } from "ai";
import { parseToolCall } from "ai/internal";
import { messageOf } from "../failure.ts";
import { findExcess, type JsonLimits } from "../json-meter.ts";
import type { StreamPart } from "./provider.ts";

/** A tool call as the model requested it. */
export interface ToolCall {
  tool: string;
  input: unknown;
  /** The reason why the call cannot run: the tool does not exist, or its input is invalid. */
  error?: string;
}

/** The log stores up to 48 levels. */
const MAX_DEPTH = 40;
/** The input of our own tools is validated field by field, and each invalid field creates an error message. */
const ownLimits: JsonLimits = { depth: MAX_DEPTH, values: 5_000 };
/** The inputs of `finish` and of MCP tools are data, which can be larger. */
const foreignLimits: JsonLimits = { depth: MAX_DEPTH, values: 50_000 };

const MAX_NAME_CHARACTERS = 200;
const MAX_ERROR_CHARACTERS = 4_000;
const MAX_UNREADABLE_CHARACTERS = 4_000;

/**
 * Parses a tool call and validates its input against the tool's schema. An invalid call is returned with its `error`, so
 * that the model can correct it. The input is always an object, because providers accept nothing else when the
 * conversation is sent back to them.
 */
export async function parseCall(
  { input: json, ...part }: Extract<StreamPart, { type: "tool-call" }>,
  { tools, isOwn }: { tools: ToolSet; isOwn(tool: string): boolean },
): Promise<ToolCall> {
  const toolName = truncate(part.toolName, MAX_NAME_CHARACTERS);
  const excess = findExcess(json, isOwn(toolName) ? ownLimits : foreignLimits);
  if (excess !== undefined) {
    const input = { unreadable: truncate(json, MAX_UNREADABLE_CHARACTERS) };
    return { tool: toolName, input, error: `The input ${excess}. Use a smaller input.` };
  }
  const call = await parseToolCall({
    toolCall: { ...part, toolName, input: json },
    tools,
    repairToolCall: undefined,
    instructions: undefined,
    messages: [],
  });
  const isObject = typeof call.input === "object" && call.input !== null && !Array.isArray(call.input);
  const input = isObject ? call.input : { unreadable: call.input };
  const isInvalid = "invalid" in call && call.invalid;
  const error = isInvalid ? { error: truncate(messageOf(call.error), MAX_ERROR_CHARACTERS) } : {};
  return { tool: call.toolName, input, ...error };
}

function truncate(text: string, maxCharacters: number): string {
  return text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters)}…`;
}
