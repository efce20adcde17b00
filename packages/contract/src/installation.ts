import { z } from "zod";
import { Maintenance } from "./maintenance.ts";
import { CostQuota } from "./quota.ts";

/** Each limit is named after its environment variable, so that operators can find it in their settings and the docs. */
const Limits = z
  .object({
    requests_per_minute: z.int(),
    creations_per_minute: z.int(),
    failures_per_minute: z.int().meta({ description: "Requests without a valid key, per network address." }),
    max_streams_per_key: z.int(),
    max_concurrent_runs: z.int().optional(),
    max_builds_per_user: z.int().meta({ description: "Unfinished builds that a user may have requested." }),
    cost_per_day: CostQuota.optional(),
    turn_timeout_minutes: z.number(),
    max_steps: z.int(),
    max_attempts: z.int(),
    queue_timeout_hours: z.number(),
    blocked_timeout_days: z.number(),
    lease_seconds: z.number(),
    min_free_mb: z
      .number()
      .meta({ description: "New runs are rejected while a disk has less free space than this." }),
  })
  .meta({
    description: "Limits, named after their environment variables. A limit that is not set is absent.",
  });

const Sizes = z
  .object({
    body_bytes: z.int(),
    body_with_attachments_bytes: z.int(),
    prompt_bytes: z.int(),
    attachments: z.int(),
    attachments_bytes: z.int(),
    output_schema_bytes: z.int(),
    secret_bytes: z.int(),
  })
  .meta({ description: "Maximum sizes in requests." });

const Bound = z
  .object({ days: z.number().optional(), gigabytes: z.number().optional() })
  .meta({ id: "RetentionBound" });

const Retention = z
  .object({ runs: Bound, events: Bound, artifacts: Bound, files: Bound, builds: Bound })
  .meta({
    description: "How long the data of finished runs is kept. Data without a limit is kept indefinitely.",
  });

export const Installation = z
  .object({
    maintenance: Maintenance.omit({ changed_by: true, runs: true }),
    has_free_space: z.boolean().meta({ description: "False while a disk is too full for new runs." }),
    limits: Limits,
    sizes: Sizes,
    retention: Retention,
  })
  .meta({ id: "Installation", description: "Settings and current status of the installation." });
export type Installation = z.infer<typeof Installation>;
