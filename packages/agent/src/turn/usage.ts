import type { ModelPrices as Prices } from "@outrider/contract/model";
import type { RunLimits, RunUsage } from "@outrider/contract/run";
import type { TurnOutcome } from "@outrider/contract/worker";
import type { LanguageModelUsage } from "ai";
import type { LimitCode } from "../conversation/notes.ts";

const MILLION = 1_000_000;

/** One model call's token counts, as far as they are known. */
export interface CallTokens {
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
}

export const noTokens: CallTokens = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 };

export function callTokens(usage: LanguageModelUsage | undefined): CallTokens {
  if (!usage) return noTokens;
  return {
    input: usage.inputTokens ?? 0,
    cacheRead: usage.inputTokenDetails.cacheReadTokens ?? 0,
    cacheWrite: usage.inputTokenDetails.cacheWriteTokens ?? 0,
    output: usage.outputTokens ?? 0,
  };
}

/** Returns a call's cost. Cache reads and writes cost the same as other input unless they have their own prices. */
export function costOf(
  { input, cacheRead, cacheWrite, output }: CallTokens,
  prices: Prices | undefined,
): number {
  if (!prices) return 0;
  const {
    input_usd_per_mtok: inputPrice,
    cached_input_usd_per_mtok: readPrice = inputPrice,
    cache_write_usd_per_mtok: writePrice = inputPrice,
    output_usd_per_mtok: outputPrice,
  } = prices;
  const uncached = Math.max(0, input - cacheRead - cacheWrite);
  return (
    (uncached * inputPrice + cacheRead * readPrice + cacheWrite * writePrice + output * outputPrice) / MILLION
  );
}

/** Adds one model call. Every call is one step, whatever its result; retries are not separate steps. */
export function addCall(usage: RunUsage, tokens: CallTokens, prices: Prices | undefined): RunUsage {
  const { steps, ...rest } = addTokens(usage, tokens, prices);
  return { ...rest, steps: steps + 1 };
}

export function addTokens(usage: RunUsage, tokens: CallTokens, prices: Prices | undefined): RunUsage {
  return {
    ...usage,
    input_tokens: usage.input_tokens + tokens.input,
    cached_input_tokens: usage.cached_input_tokens + tokens.cacheRead,
    output_tokens: usage.output_tokens + tokens.output,
    cost_usd: usage.cost_usd + costOf(tokens, prices),
  };
}

/** The usage that a turn's limits are checked against. */
export interface TurnUsage {
  /** The whole run's usage. Limits apply to a single turn, so `before` is subtracted. */
  usage: RunUsage;
  /** The usage of earlier turns. */
  before: RunUsage;
  isTimedOut: boolean;
  prices: Prices | undefined;
  /** The estimated input tokens of the next call. */
  nextInput: number;
  lastCall: CallTokens | undefined;
}

/** Returns the limit that requires the agent to wrap up now, if any. */
export function limitReached(
  { max_steps = Number.POSITIVE_INFINITY, max_cost_usd }: Pick<RunLimits, "max_steps" | "max_cost_usd">,
  turn: TurnUsage,
): LimitCode | undefined {
  const { usage, before, isTimedOut } = turn;
  if (isTimedOut) return "timeout";
  if (usage.steps - before.steps >= max_steps) return "step_limit_exceeded";
  return budgetLeft(max_cost_usd, turn) < likelyCostOfTwoCalls(turn) ? "budget_exceeded" : undefined;
}

/**
 * Returns whether the budget is spent. If so, no call is made, not even for a final message, so a turn exceeds its
 * budget by at most one call.
 */
export function isBudgetSpent(
  max_cost_usd: number | undefined,
  turn: Pick<TurnUsage, "usage" | "before">,
): boolean {
  return budgetLeft(max_cost_usd, turn) <= 0;
}

export function budgetLeft(
  max_cost_usd = Number.POSITIVE_INFINITY,
  { usage, before }: Pick<TurnUsage, "usage" | "before">,
): number {
  return max_cost_usd - (usage.cost_usd - before.cost_usd);
}

/**
 * Estimates the cost of the next call plus the final message after it, so that the turn can still afford that message.
 * The input price is that of the last call, because most of the input may come from the cache; the output is counted
 * once.
 */
function likelyCostOfTwoCalls({ prices, nextInput, lastCall }: TurnUsage): number {
  return likelyCost(2 * nextInput, { prices, lastCall });
}

/** Estimates the cost of this many input tokens and of an answer as long as the last one. */
export function likelyCost(
  inputTokens: number,
  { prices, lastCall = noTokens }: Pick<TurnUsage, "prices" | "lastCall">,
): number {
  if (!prices) return 0;
  const { output, ...input } = lastCall;
  const lastPrice =
    input.input > 0 ? costOf({ ...input, output: 0 }, prices) / input.input : Number.POSITIVE_INFINITY;
  const price = Math.min(prices.input_usd_per_mtok / MILLION, lastPrice);
  return inputTokens * price + costOf({ ...noTokens, output }, prices);
}

/** The assumed length of an answer until the first one is known. */
const ASSUMED_OUTPUT_TOKENS = 4_096;

/**
 * Estimates the cost of a call for a reservation: its input at the highest price, and an answer twice as long as the
 * last one. The call may cost more; the actual cost is settled afterwards.
 */
export function costToReserve(
  { input, lastOutput, maxOutput }: { input: number; lastOutput: number; maxOutput: number | undefined },
  prices: Prices,
): number {
  const { input_usd_per_mtok: inputPrice, cache_write_usd_per_mtok: writePrice = inputPrice } = prices;
  const output = Math.min(
    Math.max(ASSUMED_OUTPUT_TOKENS, 2 * lastOutput),
    maxOutput ?? Number.POSITIVE_INFINITY,
  );
  return (input * Math.max(inputPrice, writePrice) + output * prices.output_usd_per_mtok) / MILLION;
}

export function limitOutcome(code: LimitCode): TurnOutcome {
  const limit = { budget_exceeded: "budget", step_limit_exceeded: "step limit", timeout: "time limit" }[code];
  return {
    type: "failed",
    error_code: code,
    message: `The turn reached its ${limit}. Its results so far are kept.`,
  };
}
