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

const toolTokenCounts = new WeakMap<readonly Tool[], number>();

/** Estimates the number of tokens in the tools' descriptions and schemas. */
export function estimateToolTokens(tools: readonly Tool[]): number {
  const cached = toolTokenCounts.get(tools);
  if (cached !== undefined) return cached;
  const texts = tools.map(({ description, input }) => {
    const schema = "jsonSchema" in input ? input.jsonSchema : z.toJSONSchema(input, { io: "input" });
    return description + JSON.stringify(schema);
  });
  const tokens = estimateTokens(texts.join(""));
  toolTokenCounts.set(tools, tokens);
  return tokens;
}
