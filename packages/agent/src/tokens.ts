import { z } from "zod";
import type { Tool } from "./tools/tool.ts";

/** Every model cuts text its own way. Prose has about four bytes to a token, code about three. */
const BYTES_PER_TOKEN = 3.5;

/** About how many tokens a text has. What a provider counted is better, where there is such a count. */
export function tokensIn(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

export function bytesIn(tokens: number): number {
  return Math.floor(tokens * BYTES_PER_TOKEN);
}

const toolSizes = new WeakMap<readonly Tool[], number>();

/** About how long the tools' descriptions are. */
export function toolTokens(tools: readonly Tool[]): number {
  const known = toolSizes.get(tools);
  if (known !== undefined) return known;
  const texts = tools.map(({ description, input }) => {
    const schema = "jsonSchema" in input ? input.jsonSchema : z.toJSONSchema(input, { io: "input" });
    return description + JSON.stringify(schema);
  });
  const size = tokensIn(texts.join(""));
  toolSizes.set(tools, size);
  return size;
}
