import type { LanguageModelUsage } from "ai";
import { boundUsage } from "./bounded-usage.ts";
import type { ProviderModel } from "./provider.ts";

/** Providers that report token counts before the end of a stream. OpenAI's APIs report them only at the end. */
const reportingProviders = /^(anthropic|google|compatible)\b/;

/** An average, for the output that the provider has not counted yet. */
const CHARACTERS_PER_TOKEN = 4;

export interface TokenCounts {
  input?: number | undefined;
  cacheRead?: number | undefined;
  cacheWrite?: number | undefined;
  output?: number | undefined;
}

export function reportsPartialUsage({ provider }: Pick<ProviderModel, "provider">): boolean {
  return reportingProviders.test(provider);
}

/**
 * Collects the token counts that a provider sends while it streams. They are used only if the stream is cut off, because
 * the provider charges for such a call as well.
 */
export class PartialUsage {
  #counts: TokenCounts = {};

  /** Reads one of the provider's events as it was received. It can have any shape. */
  push(event: unknown) {
    const { type, message, usage, usageMetadata } = asObject(event);
    if (type === "message_start") this.add(anthropicCounts(asObject(asObject(message).usage)));
    else if (type === "message_delta") this.add({ output: count(asObject(usage).output_tokens) });
    else if (usageMetadata) this.add(googleCounts(asObject(usageMetadata)));
    else if (usage) this.add(compatibleCounts(asObject(usage)));
  }

  /** Returns the counts, or undefined if the provider has reported no input. `characters` is the output so far. */
  read(characters: number): LanguageModelUsage | undefined {
    const { input, cacheRead, cacheWrite, output = 0 } = this.#counts;
    if (input === undefined) return undefined;
    const outputTokens = Math.max(output, Math.ceil(characters / CHARACTERS_PER_TOKEN));
    return boundUsage({
      inputTokens: input,
      inputTokenDetails: {
        noCacheTokens: undefined,
        cacheReadTokens: cacheRead,
        cacheWriteTokens: cacheWrite,
      },
      outputTokens,
      outputTokenDetails: { textTokens: undefined, reasoningTokens: undefined },
      totalTokens: input + outputTokens,
    });
  }

  /** Adds counts to the known ones, or replaces those. */
  add(counts: TokenCounts) {
    const known = Object.entries(counts).filter(([, value]) => value !== undefined);
    this.#counts = { ...this.#counts, ...Object.fromEntries(known) };
  }
}

/** Anthropic counts cache reads and writes separately from other input. */
export function anthropicCounts(usage: Record<string, unknown>): TokenCounts {
  const cacheRead = count(usage.cache_read_input_tokens) ?? 0;
  const cacheWrite = count(usage.cache_creation_input_tokens) ?? 0;
  const input = count(usage.input_tokens);
  const total = input === undefined ? undefined : input + cacheRead + cacheWrite;
  return { input: total, cacheRead, cacheWrite, output: count(usage.output_tokens) };
}

function googleCounts(usage: Record<string, unknown>): TokenCounts {
  const candidates = count(usage.candidatesTokenCount) ?? 0;
  const thoughts = count(usage.thoughtsTokenCount) ?? 0;
  return {
    input: count(usage.promptTokenCount),
    cacheRead: count(usage.cachedContentTokenCount),
    output: candidates + thoughts,
  };
}

function compatibleCounts(usage: Record<string, unknown>): TokenCounts {
  const cacheRead = count(asObject(usage.prompt_tokens_details).cached_tokens);
  return { input: count(usage.prompt_tokens), cacheRead, output: count(usage.completion_tokens) };
}

/** The counts of OpenAI's Responses API, which reports them only at the end. */
export function responsesCounts(usage: Record<string, unknown>): TokenCounts {
  const cacheRead = count(asObject(usage.input_tokens_details).cached_tokens);
  return { input: count(usage.input_tokens), cacheRead, output: count(usage.output_tokens) };
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
