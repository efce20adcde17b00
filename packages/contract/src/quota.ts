import { z } from "zod";
import { Timestamp } from "./text.ts";

const Rate = z
  .object({
    limit: z.int(),
    remaining: z.int().meta({ description: "As known to the server that handled the request." }),
    window_seconds: z.int(),
    resets_in_seconds: z.int().meta({ description: "Seconds until the full quota is available again." }),
  })
  .meta({ id: "RateQuota", description: "Number of calls allowed in a time window." });

export const CostQuota = z
  .object({
    limit_usd: z.number(),
    used_usd: z
      .number()
      .meta({ description: "Spent today, plus what is reserved for model calls in progress." }),
    resets_at: Timestamp.meta({ description: "Start of the next UTC day." }),
  })
  .meta({ id: "CostQuota", description: "Spending limit per day, in US dollars." });
export type CostQuota = z.infer<typeof CostQuota>;

const Runs = z
  .object({ limit: z.int(), active: z.int().meta({ description: "Runs in progress now." }) })
  .meta({
    id: "RunsQuota",
    description: "Maximum number of concurrent runs. Further runs wait in the queue.",
  });

/** A caller's quotas across all servers, with the remaining amounts. Quotas without a limit are absent. */
export const Quotas = z
  .object({
    requests: Rate,
    creations: Rate.meta({ description: "Quota for creating runs." }),
    cost_per_day: z.object({ key: CostQuota.optional(), installation: CostQuota.optional() }),
    concurrent_runs: z.object({
      key: Runs.optional(),
      agent: Runs.optional(),
      installation: Runs.optional(),
    }),
  })
  .meta({
    id: "Quotas",
    description: "The quotas of the caller, and what is left of them.",
  });
export type Quotas = z.infer<typeof Quotas>;
