import { findExcess } from "../../json-meter.ts";
import { MAX_SCHEMA_BYTES } from "../input-schema.ts";
import { MessageLimitError } from "./message-limit-error.ts";
import { isObject, truncateText } from "./reduced-text.ts";

type Fields = Record<string, unknown>;

const MAX_TOOLS = 1_000;
/**
 * The number of tools that an agent gets, because providers accept at most 128 tools, including the built-in ones. Of the
 * others, only the names are read, for the notice about them.
 */
export const MAX_DESCRIBED_TOOLS = 100;
const MAX_NAME_CHARACTERS = 256;
/** Twice the length that a model gets, so that a secret can be redacted before the description is shortened. */
const MAX_DESCRIPTION_CHARACTERS = 16 * 1024;
const MAX_CURSOR_CHARACTERS = 4_096;
/** Providers reject deeper schemas. */
const MAX_SCHEMA_DEPTH = 32;

/** A tool of a reduced list. */
export interface ReducedTool {
  name: string;
  title?: string;
  description?: string;
  inputSchema: Fields;
  annotations?: { readOnlyHint?: boolean | undefined } | undefined;
  /** Set if the schema is too large or too deep for a model. It is then empty. */
  isSchemaOmitted?: true;
}

/** Reduces the result of `tools/list`. A field of the wrong type is passed on, so that the client reports it. */
export function reduceToolList({ tools, nextCursor }: Fields): Fields {
  return {
    tools: Array.isArray(tools) ? tools.slice(0, MAX_TOOLS).map(reduceTool) : null,
    ...(typeof nextCursor === "string" ? { nextCursor: requireShort("cursor", nextCursor) } : {}),
  };
}

function reduceTool(value: unknown, index: number): Fields {
  if (!isObject(value)) return {};
  const { title, description, inputSchema, annotations } = value;
  const name = typeof value.name === "string" ? requireShort("tool name", value.name) : null;
  if (index >= MAX_DESCRIBED_TOOLS) return { name, inputSchema: {} };
  return {
    name,
    ...(typeof title === "string" ? { title: truncateText(title, MAX_NAME_CHARACTERS) } : {}),
    ...(typeof description === "string"
      ? { description: truncateText(description, MAX_DESCRIPTION_CHARACTERS) }
      : {}),
    ...reduceSchema(inputSchema),
    ...(isObject(annotations) && annotations.readOnlyHint === true
      ? { annotations: { readOnlyHint: true } }
      : {}),
  };
}

function reduceSchema(schema: unknown): Fields {
  if (!isObject(schema)) return { inputSchema: null };
  const json = JSON.stringify(schema);
  const isTooLarge = Buffer.byteLength(json) > MAX_SCHEMA_BYTES;
  const limits = { depth: MAX_SCHEMA_DEPTH, values: MAX_SCHEMA_BYTES };
  if (!isTooLarge && findExcess(json, limits) === undefined) return { inputSchema: schema };
  return { inputSchema: {}, isSchemaOmitted: true };
}

/** Rejects a long text that is sent back to the server and therefore cannot be shortened. */
function requireShort(name: "cursor" | "tool name", text: string): string {
  const max = name === "cursor" ? MAX_CURSOR_CHARACTERS : MAX_NAME_CHARACTERS;
  if (text.length <= max) return text;
  throw new MessageLimitError(`The server sent a ${name} of more than ${max} characters.`);
}
