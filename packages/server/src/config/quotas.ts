import { z } from "zod";

/** Rate limits and budgets. They apply to the whole installation, not to each server. */
export interface QuotaSettings {
  /** Applies to each key and each signed-in user. */
  requestsPerMinute: number;
  creationsPerMinute: number;
  /** Limits the requests from each client network that have no valid key, session or link. */
  failuresPerMinute: number;
  /** Applies to the whole installation. If absent, there is no limit. */
  maxCostUsdPerDay?: number;
}

const MAX = 100_000_000;

const count = (defaultValue: number) =>
  z.coerce
    .number("must be a whole number above 0")
    .int("must be a whole number above 0")
    .min(1, "must be a whole number above 0")
    .max(MAX, `must be at most ${MAX}`)
    .default(defaultValue);

const dollars = z.coerce
  .number("must be a number of dollars above 0")
  .positive("must be a number of dollars above 0")
  .max(1_000_000_000, "is too large")
  .optional();

export function readQuotas(read: <T>(variable: string, type: z.ZodType<T>) => T): QuotaSettings {
  const maxCostUsdPerDay = read("OUTRIDER_MAX_COST_USD_PER_DAY", dollars);
  return {
    requestsPerMinute: read("OUTRIDER_REQUESTS_PER_MINUTE", count(6_000)),
    creationsPerMinute: read("OUTRIDER_CREATIONS_PER_MINUTE", count(600)),
    failuresPerMinute: read("OUTRIDER_FAILURES_PER_MINUTE", count(600)),
    ...(maxCostUsdPerDay === undefined ? {} : { maxCostUsdPerDay }),
  };
}
