import type { ModelPrices as Prices } from "@outrider/contract/model";
import type { RunLimits, RunUsage } from "@outrider/contract/run";
import type { TurnOutcome } from "@outrider/contract/worker";
import type { LanguageModelUsage } from "ai";
import type { LimitCode } from "./notes.ts";

const MILLION = 1_000_000;

/** The usage after one more model call. A call that broke off is a step too, its tokens unknown. */
export function withCall(usage: RunUsage, call: LanguageModelUsage | undefined, prices?: Prices): RunUsage {
  const input = call?.inputTokens ?? 0;
  const output = call?.outputTokens ?? 0;
  const cost = prices
    ? (input * prices.input_usd_per_mtok + output * prices.output_usd_per_mtok) / MILLION
    : 0;
  return {
    ...usage,
    input_tokens: usage.input_tokens + input,
    cached_input_tokens: usage.cached_input_tokens + (call?.inputTokenDetails.cacheReadTokens ?? 0),
    output_tokens: usage.output_tokens + output,
    cost_usd: usage.cost_usd + cost,
    steps: usage.steps + 1,
  };
}

/** Limits hold for a turn, usage counts for the run: `before` is what earlier turns used. */
export function limitReached(
  limits: Pick<RunLimits, "max_steps" | "max_cost_usd">,
  { usage, before, isLate }: { usage: RunUsage; before: RunUsage; isLate: boolean },
): LimitCode | undefined {
  if (isLate) return "timeout";
  const { max_steps = Number.POSITIVE_INFINITY, max_cost_usd = Number.POSITIVE_INFINITY } = limits;
  if (usage.steps - before.steps >= max_steps) return "step_limit_exceeded";
  return usage.cost_usd - before.cost_usd >= max_cost_usd ? "budget_exceeded" : undefined;
}

export function limitEnd(code: LimitCode): TurnOutcome {
  const what = { budget_exceeded: "its budget", step_limit_exceeded: "all its steps", timeout: "its time" }[
    code
  ];
  return { type: "failed", error_code: code, message: `The turn used up ${what}. What it did is kept.` };
}
