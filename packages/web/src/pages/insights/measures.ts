import type { UsageTotals } from "@outrider/sdk";
import { formatCount, formatDollars } from "../../ui/format/numbers.ts";
import { formatDuration } from "../../ui/format/time.tsx";

/** Returns the share of ended runs that succeeded, or undefined if none has ended. Cancelled runs do not count. */
export function successRate({
  succeeded,
  failed,
}: Pick<UsageTotals, "succeeded" | "failed">): number | undefined {
  return succeeded + failed > 0 ? succeeded / (succeeded + failed) : undefined;
}

/** Returns all tokens. The input includes what was cached. */
export function tokensOf({ input_tokens, output_tokens }: UsageTotals): number {
  return input_tokens + output_tokens;
}

const percent = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });

export const formatPercent = (share: number) => percent.format(share);
export function formatSeconds(seconds: number): string {
  // Round values on an axis need no seconds.
  return seconds === 0 ? "0" : formatDuration(seconds * 1_000).replace(/ 0 (s|min)$/, "");
}

const dollars = new Intl.NumberFormat(undefined, {
  style: "currency",
  currency: "USD",
  currencyDisplay: "narrowSymbol",
  maximumFractionDigits: 0,
});

/** Formats an amount in a dense place. Amounts of 100 dollars and more have no cents. */
export function formatCost(amount: number): string {
  return amount >= 100 ? dollars.format(amount) : formatDollars(amount).replace(/\.00$/, "");
}

export interface Measure {
  label: string;
  of: (totals: UsageTotals) => number | undefined;
  format: (value: number) => string;
  /** Whether a higher value is better, worse or neither. */
  better?: "higher" | "lower";
  /** The change is a difference of percentages, not a ratio. */
  isShare?: boolean;
  /** A second value below the first. */
  detail?: (totals: UsageTotals) => string | undefined;
}

const p95 = (value: number | undefined) => (value === undefined ? undefined : `p95 ${formatSeconds(value)}`);

export const measures: Measure[] = [
  {
    label: "Runs",
    of: ({ runs }) => runs,
    format: formatCount,
    detail: ({ failed }) => `${formatCount(failed)} failed`,
  },
  {
    label: "Success rate",
    of: successRate,
    format: formatPercent,
    better: "higher",
    isShare: true,
    detail: ({ succeeded }) => `${formatCount(succeeded)} succeeded`,
  },
  {
    label: "Cost",
    of: ({ cost_usd }) => cost_usd,
    format: formatCost,
    detail: ({ cost_usd, runs }) => (runs > 0 ? `${formatCost(cost_usd / runs)} per run` : undefined),
  },
  {
    label: "Tokens",
    of: tokensOf,
    format: formatCount,
    detail: ({ cached_input_tokens, input_tokens }) =>
      input_tokens > 0 ? `${formatPercent(cached_input_tokens / input_tokens)} cached` : undefined,
  },
  {
    label: "Median duration",
    of: ({ duration_p50_seconds }) => duration_p50_seconds,
    format: formatSeconds,
    better: "lower",
    detail: ({ duration_p95_seconds }) => p95(duration_p95_seconds),
  },
  {
    label: "Median wait",
    of: ({ wait_p50_seconds }) => wait_p50_seconds,
    format: formatSeconds,
    better: "lower",
    detail: ({ wait_p95_seconds }) => p95(wait_p95_seconds),
  },
];
