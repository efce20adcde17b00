import { z } from "zod";
import { Brake } from "./brake.ts";
import { CostQuota } from "./quota.ts";

/** Each by the name of its variable, so that an operator finds what was set, and docs/limits.md what it means. */
const Limits = z
  .object({
    requests_per_minute: z.int(),
    creations_per_minute: z.int(),
    failures_per_minute: z.int().meta({ description: "Of an address, without a good key." }),
    max_streams_per_key: z.int(),
    max_concurrent_runs: z.int().optional(),
    cost_per_day: CostQuota.optional(),
    turn_timeout_minutes: z.number(),
    max_steps: z.int(),
    max_attempts: z.int(),
    queue_timeout_hours: z.number(),
    blocked_timeout_days: z.number(),
    lease_seconds: z.number(),
    min_free_mb: z.number().meta({ description: "With less free on a disk, no new work is taken." }),
  })
  .meta({ description: "By the names of their variables. What has no limit is absent." });

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
  .meta({ description: "The most that a request may hold." });

const Bound = z
  .object({ days: z.number().optional(), gigabytes: z.number().optional() })
  .meta({ id: "RetentionBound" });

const Retention = z
  .object({ runs: Bound, events: Bound, artifacts: Bound, files: Bound, builds: Bound })
  .meta({ description: "What is kept of runs that have ended; without a bound, for ever." });

export const Installation = z
  .object({
    brake: Brake.omit({ changed_by: true, runs: true }),
    has_room: z.boolean().meta({ description: "False while a disk is too full for new work." }),
    limits: Limits,
    sizes: Sizes,
    retention: Retention,
  })
  .meta({ id: "Installation", description: "As the server that answers was started, and as it is now." });
export type Installation = z.infer<typeof Installation>;
