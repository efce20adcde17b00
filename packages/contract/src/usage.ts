import { z } from "zod";
import { QueryTime } from "./query.ts";
import { Timestamp, Uuid } from "./text.ts";

/** The limits of a usage query. They bound the size of a response and the number of rollups that it reads. */
export const usageLimits = {
  points: 366,
  groups: 50,
  hourlyDays: 14,
  loadPoints: 750,
  workerLoadDays: 2,
} as const;

export const UsageInterval = z.enum(["hour", "day", "week", "month"]).meta({
  id: "UsageInterval",
  description: "Length of one point. All intervals start in UTC, and weeks start on Monday.",
});
export type UsageInterval = z.infer<typeof UsageInterval>;

export const UsageDimension = z
  .enum(["model", "environment", "user", "agent", "repository", "source", "failure"])
  .meta({ id: "UsageDimension" });
export type UsageDimension = z.infer<typeof UsageDimension>;

export const GetUsageQuery = z.strictObject({
  from: QueryTime.optional().meta({
    description: "Start of the period, rounded down to the start of an interval. Default: 30 intervals ago.",
  }),
  to: QueryTime.optional().meta({
    description: "End of the period, rounded up to the end of an interval. Default: now.",
  }),
  interval: UsageInterval.optional().meta({
    description: `Default \`day\`. A period has at most ${usageLimits.points} intervals. Hours are kept for ${usageLimits.hourlyDays} days.`,
  }),
  group_by: UsageDimension.optional().meta({
    description:
      "Also returns usage per model, environment, user, cloud agent, repository or source, or per error code and environment of failed runs. A run counts for each repository that its environment has now.",
  }),
  compare: z
    .enum(["previous"])
    .optional()
    .meta({ description: "Also returns the same number of intervals before the period." }),
  environment_id: Uuid.optional().meta({ description: "Only runs in this environment." }),
});
export type GetUsageQuery = z.infer<typeof GetUsageQuery>;

const count = (description: string) => z.int().meta({ description });
const seconds = (description: string) => z.number().optional().meta({ description });

const totals = {
  runs: count("Runs created in the period."),
  succeeded: count("Of these runs, those that are now SUCCEEDED."),
  failed: count("Of these runs, those that are now FAILED."),
  cancelled: count("Of these runs, those that are now CANCELLED."),
  unfinished: count("Of these runs, those that have not ended, or that continue after a follow-up."),
  cost_usd: z
    .number()
    .meta({ description: "Cost incurred in the period, also by runs that were created earlier." }),
  input_tokens: z.int(),
  cached_input_tokens: z.int(),
  output_tokens: z.int(),
  run_seconds: z.number().meta({ description: "Time that runs executed in the period." }),
  duration_p50_seconds: seconds(
    "Median of `usage.run_seconds` of the runs that were created in the period and have ended. Absent if there are none.",
  ),
  duration_p95_seconds: seconds("95th percentile of the same."),
  wait_p50_seconds: seconds("Median time in the queue of the turns that started in the period."),
  wait_p95_seconds: seconds("95th percentile of the same."),
};

export const UsageTotals = z.object(totals).meta({
  id: "UsageTotals",
  description:
    "The success rate is `succeeded / (succeeded + failed)`. Percentiles are estimates with an error of a few percent.",
});
export type UsageTotals = z.infer<typeof UsageTotals>;

export const UsagePoint = z.object({ starts_at: Timestamp, ...totals }).meta({ id: "UsagePoint" });
export type UsagePoint = z.infer<typeof UsagePoint>;

export const UsageGroup = z
  .object({
    key: z.string().meta({
      description:
        "The model ID, environment ID, uid, URL of the repository, source, or error code and environment ID. Empty if the runs have none.",
    }),
    label: z.string().meta({ description: "What people call it, such as the name of the environment." }),
    is_other: z
      .literal(true)
      .optional()
      .meta({ description: `Present for the sum of all groups after the first ${usageLimits.groups}.` }),
    environment_id: Uuid.optional().meta({
      description: "Present for environments, and for failures in one.",
    }),
    environment_ids: z
      .array(Uuid)
      .optional()
      .meta({ description: "Present for repositories: the environments that have it." }),
    error_code: z.string().optional().meta({ description: "Present for failures." }),
    ...totals,
    previous: UsageTotals.optional().meta({ description: "Present with `compare`." }),
    points: z.array(z.object({ starts_at: Timestamp, runs: z.int(), failed: z.int(), cost_usd: z.number() })),
  })
  .meta({ id: "UsageGroup" });
export type UsageGroup = z.infer<typeof UsageGroup>;

export const UsageResponse = z
  .object({
    from: Timestamp.meta({ description: "Start of the first interval." }),
    to: Timestamp.meta({ description: "End of the last interval." }),
    interval: UsageInterval,
    totals: UsageTotals,
    previous: UsageTotals.optional().meta({ description: "The period before. Present with `compare`." }),
    points: z.array(UsagePoint).meta({ description: "One per interval, in ascending order." }),
    previous_points: z.array(UsagePoint).optional(),
    groups: z
      .array(UsageGroup)
      .optional()
      .meta({ description: "Present with `group_by`. Groups with the most runs come first." }),
    as_of: Timestamp.meta({
      description: "Changes until about this time are included. Runs appear after a few seconds.",
    }),
    is_complete: z.boolean().meta({
      description: "False after an upgrade, until all runs of earlier versions are counted.",
    }),
  })
  .meta({ id: "UsageResponse" });
export type UsageResponse = z.infer<typeof UsageResponse>;

export const GetUsageLoadQuery = z.strictObject({
  from: QueryTime.optional().meta({ description: "Default: one day before `to`." }),
  to: QueryTime.optional().meta({ description: "Default: now." }),
  worker_id: Uuid.optional().meta({
    description: `The load of one worker, which is kept for ${usageLimits.workerLoadDays} days.`,
  }),
});
export type GetUsageLoadQuery = z.infer<typeof GetUsageLoadQuery>;

export const UsageLoadPoint = z
  .object({
    starts_at: Timestamp,
    queued: z.number().meta({ description: "Average number of runs in the queue. Always 0 for one worker." }),
    queued_max: z.int(),
    running: z.number().meta({ description: "Average number of runs in progress." }),
    running_max: z.int(),
    slots: z.number().meta({ description: "Average number of slots of connected workers." }),
    workers: z.number().meta({ description: "Average number of connected workers." }),
  })
  .meta({ id: "UsageLoadPoint" });
export type UsageLoadPoint = z.infer<typeof UsageLoadPoint>;

export const UsageLoadResponse = z
  .object({
    from: Timestamp,
    to: Timestamp,
    interval_seconds: z.int().meta({
      description:
        "Length of one point: 5 minutes for up to 2 days, then an hour, then a day. 15 minutes for a worker.",
    }),
    points: z
      .array(UsageLoadPoint)
      .meta({ description: "In ascending order. Intervals without a measurement are absent." }),
  })
  .meta({ id: "UsageLoadResponse" });
export type UsageLoadResponse = z.infer<typeof UsageLoadResponse>;
