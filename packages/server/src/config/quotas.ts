import { z } from "zod";

/** Bounds that hold for all servers of an installation together. */
export interface QuotaSettings {
  /** For each key, and for each person who is signed in. */
  requestsPerMinute: number;
  creationsPerMinute: number;
  /** For each address: how many requests may come without a good key, session or link. */
  failuresPerMinute: number;
  /** Of the installation; none where absent. */
  maxCostUsdPerDay?: number;
}

const MOST = 100_000_000;

const count = (usual: number) =>
  z.coerce
    .number("must be a whole number above 0")
    .int("must be a whole number above 0")
    .min(1, "must be a whole number above 0")
    .max(MOST, `must be at most ${MOST}`)
    .default(usual);

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
