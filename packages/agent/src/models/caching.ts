import type { ModelMessage, SystemModelMessage } from "ai";

/** Anthropic caches the prompt up to each breakpoint and allows four. Other providers ignore breakpoints. */
const breakpoint = { anthropic: { cacheControl: { type: "ephemeral" as const } } };

/** Marks the instructions for caching. The tools precede them and are cached as well. */
export function cachedInstructions(instructions: string): SystemModelMessage {
  return { role: "system", content: instructions, providerOptions: breakpoint };
}

/**
 * Sets breakpoints at the end of the messages and at the end of the previous call's messages. The latter marks the most
 * recently cached part, and the provider searches only a limited distance back from a breakpoint.
 */
export function withCacheBreakpoints(messages: readonly ModelMessage[]): ModelMessage[] {
  const last = messages.length - 1;
  const previousEnd = messages.findLastIndex(({ role }, index) => index < last && role === "assistant") - 1;
  return messages.map((message, index) =>
    index === last || index === previousEnd
      ? { ...message, providerOptions: { ...message.providerOptions, ...breakpoint } }
      : message,
  );
}
