import { z } from "zod";
import type { Tool } from "../tools/tool.ts";

/** An average: prose has about four bytes per token and code about three, and tokenizers differ. */
const BYTES_PER_TOKEN = 3.5;

/** Estimates the number of tokens in a text. The provider's own count is more accurate where it is available. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

export function tokensToBytes(tokens: number): number {
  return Math.floor(tokens * BYTES_PER_TOKEN);
}

/** Converting a schema takes a good part of a millisecond, and the tools of all runs share their schemas. */
const schemaTexts = new WeakMap<Tool["input"], string>();

/** Estimates the number of tokens in the tools' descriptions and schemas. */
export function estimateToolTokens(tools: readonly Tool[]): number {
  return estimateTokens(tools.map(({ description, input }) => description + schemaText(input)).join(""));
}

function schemaText(input: Tool["input"]): string {
  const cached = schemaTexts.get(input);
  if (cached !== undefined) return cached;
  const schema = "jsonSchema" in input ? input.jsonSchema : z.toJSONSchema(input, { io: "input" });
  const text = JSON.stringify(schema);
  schemaTexts.set(input, text);
  return text;
}
