import type { ModelPrices as Prices } from "@outrider/contract/model";
import type { RunLimits, RunUsage } from "@outrider/contract/run";
import type { TurnOutcome } from "@outrider/contract/worker";
import type { LanguageModelUsage } from "ai";
import type { LimitCode } from "./notes.ts";

const MILLION = 1_000_000;

/** What one model call took, as far as it is known. */
export interface Spent {
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
}

export const nothingSpent: Spent = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 };

export function spentBy(usage: LanguageModelUsage | undefined): Spent {
  if (!usage) return nothingSpent;
  return {
    input: usage.inputTokens ?? 0,
    cacheRead: usage.inputTokenDetails.cacheReadTokens ?? 0,
    cacheWrite: usage.inputTokenDetails.cacheWriteTokens ?? 0,
    output: usage.outputTokens ?? 0,
  };
}

/** Input that was read from a cache or put into one has prices of its own; where they are unknown it costs the same. */
export function costOf({ input, cacheRead, cacheWrite, output }: Spent, prices: Prices | undefined): number {
  if (!prices) return 0;
  const {
    input_usd_per_mtok: inputPrice,
    cached_input_usd_per_mtok: readPrice = inputPrice,
    cache_write_usd_per_mtok: writePrice = inputPrice,
    output_usd_per_mtok: outputPrice,
  } = prices;
  const plain = Math.max(0, input - cacheRead - cacheWrite);
  return (
    (plain * inputPrice + cacheRead * readPrice + cacheWrite * writePrice + output * outputPrice) / MILLION
  );
}

/** The usage after one more model call, which is a step whatever came of it; a retry is part of its call. */
export function withCall(usage: RunUsage, spent: Spent, prices: Prices | undefined): RunUsage {
  const { steps, ...rest } = withTokens(usage, spent, prices);
  return { ...rest, steps: steps + 1 };
}

export function withTokens(usage: RunUsage, spent: Spent, prices: Prices | undefined): RunUsage {
  return {
    ...usage,
    input_tokens: usage.input_tokens + spent.input,
    cached_input_tokens: usage.cached_input_tokens + spent.cacheRead,
    output_tokens: usage.output_tokens + spent.output,
    cost_usd: usage.cost_usd + costOf(spent, prices),
  };
}

export interface Standing {
  /** Of the run. Limits hold for a turn, so what earlier turns used is taken from it. */
  usage: RunUsage;
  before: RunUsage;
  isLate: boolean;
  prices: Prices | undefined;
  /** About how many tokens the next call reads. */
  nextInput: number;
  lastCall: Spent | undefined;
}

/** The limit at which the agent is told to wrap up. */
export function limitReached(
  { max_steps = Number.POSITIVE_INFINITY, max_cost_usd }: Pick<RunLimits, "max_steps" | "max_cost_usd">,
  standing: Standing,
): LimitCode | undefined {
  const { usage, before, isLate } = standing;
  if (isLate) return "timeout";
  if (usage.steps - before.steps >= max_steps) return "step_limit_exceeded";
  return budgetLeft(max_cost_usd, standing) < likelyOfTwo(standing) ? "budget_exceeded" : undefined;
}

/** No call is begun when the budget is spent, not even for last words: so it holds to within one call. */
export function isSpent(
  max_cost_usd: number | undefined,
  standing: Pick<Standing, "usage" | "before">,
): boolean {
  return budgetLeft(max_cost_usd, standing) <= 0;
}

export function budgetLeft(
  max_cost_usd = Number.POSITIVE_INFINITY,
  { usage, before }: Pick<Standing, "usage" | "before">,
): number {
  return max_cost_usd - (usage.cost_usd - before.cost_usd);
}

/**
 * What the next call and the last words after it cost, if they are like the last call: input that is priced alike, for
 * the cache may hold most of it, and once its output. What is left below this is kept for the last words.
 */
function likelyOfTwo({ prices, nextInput, lastCall = nothingSpent }: Standing): number {
  if (!prices) return 0;
  const { output, ...read } = lastCall;
  const alike =
    read.input > 0 ? costOf({ ...read, output: 0 }, prices) / read.input : Number.POSITIVE_INFINITY;
  const price = Math.min(prices.input_usd_per_mtok / MILLION, alike);
  return 2 * nextInput * price + costOf({ ...nothingSpent, output }, prices);
}

/** An answer is taken to be at least so long before the first is known. */
const USUAL_OUTPUT = 4_096;

/**
 * What a call may cost, for who has to set it aside before: its input at the dearest price, and an answer twice as long as
 * the last one. It may still cost more; what it did cost is settled afterwards.
 */
export function costAhead(
  { input, lastOutput, maxOutput }: { input: number; lastOutput: number; maxOutput: number | undefined },
  prices: Prices,
): number {
  const { input_usd_per_mtok: plain, cache_write_usd_per_mtok: written = plain } = prices;
  const output = Math.min(Math.max(USUAL_OUTPUT, 2 * lastOutput), maxOutput ?? Number.POSITIVE_INFINITY);
  return (input * Math.max(plain, written) + output * prices.output_usd_per_mtok) / MILLION;
}

export function limitEnd(code: LimitCode): TurnOutcome {
  const what = { budget_exceeded: "its budget", step_limit_exceeded: "all its steps", timeout: "its time" }[
    code
  ];
  return { type: "failed", error_code: code, message: `The turn used up ${what}. What it did is kept.` };
}
