import type { LanguageModelUsage } from "ai";

/** Far above the context of any model. The sum of a run's calls must remain an exact integer. */
const MAX_TOKENS = 1e9;

/** Replaces token counts that no call can have, because a provider can report any number. */
export function boundUsage(usage: LanguageModelUsage): LanguageModelUsage {
  const { inputTokenDetails: input, outputTokenDetails: output } = usage;
  return {
    inputTokens: toCount(usage.inputTokens),
    inputTokenDetails: {
      noCacheTokens: toCount(input.noCacheTokens),
      cacheReadTokens: toCount(input.cacheReadTokens),
      cacheWriteTokens: toCount(input.cacheWriteTokens),
    },
    outputTokens: toCount(usage.outputTokens),
    outputTokenDetails: {
      textTokens: toCount(output.textTokens),
      reasoningTokens: toCount(output.reasoningTokens),
    },
    totalTokens: toCount(usage.totalTokens),
  };
}

function toCount(tokens: number | undefined): number | undefined {
  if (tokens === undefined || Number.isNaN(tokens)) return undefined;
  return Math.round(Math.min(Math.max(tokens, 0), MAX_TOKENS));
}
