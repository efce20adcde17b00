import type { ModelMessage, SystemModelMessage } from "ai";

/** Anthropic caches up to where it is told to, and takes at most four marks. Other providers do not read them. */
const mark = { anthropic: { cacheControl: { type: "ephemeral" as const } } };

/** Tools stand before the instructions and are cached with them. */
export function markedInstructions(instructions: string): SystemModelMessage {
  return { role: "system", content: instructions, providerOptions: mark };
}

/**
 * Marks the end, and the end of the call before: that is what was cached last, and the provider looks only so far back
 * from a mark for what it knows.
 */
export function withCacheMarks(messages: readonly ModelMessage[]): ModelMessage[] {
  const last = messages.length - 1;
  const before = messages.findLastIndex(({ role }, index) => index < last && role === "assistant") - 1;
  return messages.map((message, index) =>
    index === last || index === before
      ? { ...message, providerOptions: { ...message.providerOptions, ...mark } }
      : message,
  );
}
