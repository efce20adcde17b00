/**
 * Decides when and how to shorten a conversation, and produces the `compacted` event. `apply-compaction.ts` then
 * applies the event to the entries. There are three methods, from the cheapest to the one that loses the most detail:
 *
 * 1. Remove old tool outputs, if that alone frees enough space. This needs no model call.
 * 2. Let the model summarize everything but the user's messages and the most recent entries.
 * 3. If no summary can be obtained, use a truncated transcript instead.
 *
 * A model may still reject the shortened conversation. Each further attempt keeps a quarter of what the previous one
 * kept. After MAX_COMPACTIONS attempts without a response from the model, the conversation is considered too long.
 */

import { readFileSync } from "node:fs";
import type { EventData } from "@outrider/contract/event";
import type { AssignedModel } from "@outrider/contract/worker";
import { truncateMiddle } from "../output.ts";
import { entriesToSummarize, pruneOutputs, renderTranscript } from "./apply-compaction.ts";
import { type Entry, tokensOf } from "./entry.ts";
import { tokensToBytes } from "./tokens.ts";

/** The instructions for the model that writes the summary. */
export const compactionPrompt = readFileSync(new URL("./compaction.md", import.meta.url), "utf8");

/** The number of tokens reserved for the answer if the model's output limit is unknown. */
const DEFAULT_OUTPUT_TOKENS = 8_192;
/** A request that uses more than this share of the usable context triggers a compaction. */
const FULL_SHARE = 0.8;
/**
 * Removing old outputs is sufficient if the request then uses at most this share of the context. A larger request would
 * soon need another compaction.
 */
const PRUNED_SHARE = 0.5;
/** The share of the usable context that the newest outputs may use after old ones are removed. */
const KEPT_OUTPUTS_SHARE = 0.25;
/** A conversation that uses at most this share of the context is never compacted. */
const MIN_SHARE = 0.25;
const MAX_KEPT_TOKENS = 16_000;

/**
 * The maximum number of compactions between two model responses. After that, the conversation is considered too long.
 */
export const MAX_COMPACTIONS = 3;

type Capacity = Pick<AssignedModel, "context_tokens" | "max_output_tokens">;

/** The result of a summarization call: the summary, or the reason why there is none. */
export type Summary = { text: string } | "interrupted" | "overflow" | "failed";

export interface CompactionInput {
  entries: readonly Entry[];
  capacity: Capacity;
  /** The estimated size of the next request, in tokens. */
  requestTokens: number;
  /** The number of compactions since the model last answered. Each one keeps less. */
  compactions: number;
  /** Absent if the turn may not spend a model call on a summary. */
  summarize?: ((transcript: string) => Promise<Summary>) | undefined;
}

/**
 * Returns whether the conversation must be compacted before the next call. Compacting a short conversation would free
 * too little space.
 */
export function needsCompaction(
  capacity: Capacity,
  { requestTokens, conversationTokens }: { requestTokens: number; conversationTokens: number },
) {
  const usable = usableTokens(capacity);
  return requestTokens > FULL_SHARE * usable && conversationTokens > MIN_SHARE * usable;
}

/** Returns the size of the context without the space reserved for the answer. */
function usableTokens({ context_tokens, max_output_tokens = DEFAULT_OUTPUT_TOKENS }: Capacity): number {
  return context_tokens - Math.min(max_output_tokens, context_tokens / 2);
}

/** Returns the data of the `compacted` event, or "interrupted" if a message interrupted the summarization. */
export async function planCompaction(
  input: CompactionInput,
): Promise<EventData<"compacted"> | "interrupted"> {
  const { entries, capacity, requestTokens, compactions } = input;
  const usable = usableTokens(capacity);
  const keptOutputs = Math.ceil(KEPT_OUTPUTS_SHARE * usable);
  const freed = totalTokens(entries) - totalTokens(pruneOutputs(entries, keptOutputs));
  if (compactions === 0 && requestTokens - freed <= PRUNED_SHARE * usable) {
    return { summary: "", kept_tokens: keptOutputs };
  }
  const kept_tokens = Math.ceil(Math.min(MAX_KEPT_TOKENS, usable / 8) / 4 ** compactions);
  const replaced = entriesToSummarize(entries, kept_tokens);
  if (replaced.length === 0) return { summary: "", kept_tokens };
  const summary = await summarize(input, replaced, usable);
  if (summary === "interrupted") return summary;
  if (summary) return { summary: truncateMiddle(summary, tokensToBytes(usable / 8)), kept_tokens };
  // The transcript omits the user's messages, because they are kept separately.
  const withoutUser = replaced.filter((entry) => entry.type === "step" || entry.isNote);
  const transcript = renderTranscript(withoutUser, kept_tokens);
  return {
    summary: `No summary is available. This is a truncated transcript:\n\n${transcript}`,
    kept_tokens,
  };
}

/** Summarizes the entries. Retries with a shorter transcript if the first one is too long for the model. */
async function summarize({ summarize }: CompactionInput, entries: readonly Entry[], usable: number) {
  if (!summarize) return undefined;
  for (const share of [0.8, 0.3]) {
    const summary = await summarize(renderTranscript(entries, share * usable));
    if (summary === "interrupted") return summary;
    if (summary === "failed") return undefined;
    if (summary !== "overflow") return summary.text.trim();
  }
  return undefined;
}

function totalTokens(entries: readonly Entry[]): number {
  return entries.reduce((sum, entry) => sum + tokensOf(entry), 0);
}
