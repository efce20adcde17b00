import { z } from "zod";
import { Timestamp } from "./text.ts";

const Rate = z
  .object({
    limit: z.int(),
    remaining: z.int().meta({ description: "As far as the server that answers knows." }),
    window_seconds: z.int(),
    resets_in_seconds: z.int().meta({ description: "Until the whole allowance is there again." }),
  })
  .meta({ id: "RateQuota", description: "How many calls may be made in a window of time." });

export const CostQuota = z
  .object({
    limit_usd: z.number(),
    used_usd: z.number().meta({ description: "Spent today, and reserved for model calls at work." }),
    resets_at: Timestamp.meta({ description: "When the next UTC day begins." }),
  })
  .meta({ id: "CostQuota", description: "How many dollars may be spent in a day." });
export type CostQuota = z.infer<typeof CostQuota>;

const Runs = z
  .object({ limit: z.int(), at_work: z.int() })
  .meta({ id: "RunsQuota", description: "How many runs may be at work at once; more of them wait." });

/** What applies to a caller on all servers together, and what is left of it. What has no limit is absent. */
export const Quotas = z
  .object({
    requests: Rate,
    creations: Rate.meta({ description: "Of runs." }),
    cost_per_day: z.object({ key: CostQuota.optional(), installation: CostQuota.optional() }),
    runs_at_once: z.object({
      key: Runs.optional(),
      agent: Runs.optional(),
      installation: Runs.optional(),
    }),
  })
  .meta({ id: "Quotas", description: "The limits that apply to the caller, and what is left of them." });
export type Quotas = z.infer<typeof Quotas>;
