import { findExcess, type JsonLimits } from "../json-meter.ts";
import type { Tool } from "../tools/tool.ts";
import type { StreamPart } from "./provider.ts";
import { describeUnknownTool, findTool } from "./tool-name.ts";
import { isObject, parseJson, validateForeignInput, validateOwnInput } from "./validate-input.ts";

/** A tool call as it runs, after small mistakes of the model have been repaired. */
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
const MAX_UNREADABLE_CHARACTERS = 400;

/**
 * Parses a tool call, repairs what the model obviously meant, and validates the input against the tool's schema. An
 * invalid call is returned with its `error`, one sentence for the model that says what to do. The input is always an
 * object, because providers accept nothing else when the conversation is sent back to them.
 */
export function parseCall(
  { toolName, input: json }: Pick<Extract<StreamPart, { type: "tool-call" }>, "toolName" | "input">,
  tools: readonly Tool[],
): ToolCall {
  const tool = findTool(toolName, tools);
  const name = tool?.name ?? truncate(toolName, MAX_NAME_CHARACTERS);
  const parsed = parseInput(json, tool && "jsonSchema" in tool.input ? foreignLimits : ownLimits);
  if ("problem" in parsed) {
    const input = { unreadable: truncate(json, MAX_UNREADABLE_CHARACTERS) };
    return { tool: name, input, error: parsed.problem };
  }
  const { input } = parsed;
  if (!tool) return { tool: name, input, error: describeUnknownTool(name, tools) };
  const { input: schema } = tool;
  if ("jsonSchema" in schema) return { tool: name, input: validateForeignInput(input, schema.jsonSchema) };
  const result = validateOwnInput(input, schema);
  if ("data" in result) return { tool: name, input: result.data };
  return { tool: name, input, error: `Call ${name} again with valid arguments: ${result.problems}.` };
}

type ParsedInput = { input: Record<string, unknown> } | { problem: string };

/** Parses the input. Some models send the arguments as a JSON string that contains the object. */
function parseInput(json: string, limits: JsonLimits): ParsedInput {
  if (json.trim() === "") return { input: {} };
  let text = json;
  for (let level = 0; level < 3; level++) {
    const excess = findExcess(text, limits);
    if (excess !== undefined) return { problem: `The input ${excess}. Use a smaller input.` };
    const value = parseJson(text);
    if (isObject(value)) return { input: value };
    if (typeof value !== "string") break;
    text = value;
  }
  return {
    problem: "The arguments are not a JSON object: call the tool again with one complete JSON object.",
  };
}

function truncate(text: string, maxCharacters: number): string {
  return text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters)}…`;
}
