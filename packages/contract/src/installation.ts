import { z } from "zod";
import { Brake } from "./brake.ts";
import { CostQuota } from "./quota.ts";

/** Each by the name of its variable, so that an operator finds what was set: `OUTRIDER_QUEUE_TIMEOUT_HOURS`. */
const Limits = z
  .object({
    requests_per_minute: z.int().meta({ description: "Of a key, or of a person who is signed in." }),
    creations_per_minute: z.int().meta({ description: "Of runs, by the same." }),
    failures_per_minute: z.int().meta({ description: "Of an address, without a good key, session or link." }),
    max_concurrent_runs: z
      .int()
      .optional()
      .meta({ description: "At work at once. Absent: as many as workers have slots." }),
    cost_per_day: CostQuota.optional().meta({ description: "Absent where there is no limit." }),
    turn_timeout_minutes: z.number().meta({ description: "Of a turn that sets none." }),
    max_steps: z.int().meta({ description: "Model calls of a turn that sets no limit." }),
    max_attempts: z.int().meta({ description: "Of a turn whose workers are lost." }),
    queue_timeout_hours: z.number().meta({ description: "A run that has waited this long fails." }),
    blocked_timeout_days: z
      .number()
      .meta({ description: "A question that nobody has answered for so long fails its run." }),
    lease_seconds: z
      .number()
      .meta({ description: "How long a worker may be silent before its runs go to another." }),
    min_free_mb: z.number().meta({ description: "With less free on a disk, no new work is taken." }),
  })
  .meta({ id: "InstallationLimits", description: "As the server that answers was started with." });

const Sizes = z
  .object({
    body_bytes: z.int(),
    body_with_attachments_bytes: z.int(),
    prompt_bytes: z.int().meta({ description: "Of a prompt or a message." }),
    attachments: z.int().meta({ description: "How many, with one prompt or message." }),
    attachments_bytes: z.int().meta({ description: "All of them together." }),
    output_schema_bytes: z.int(),
    secret_bytes: z.int(),
  })
  .meta({ id: "InstallationSizes", description: "The most that a request may hold. The same everywhere." });

const Age = z.object({
  days: z.number().optional().meta({ description: "Since the end of the run. Absent: however old." }),
});
const Bound = Age.extend({
  gigabytes: z.number().optional().meta({ description: "Of all of it. Absent: however much." }),
}).meta({ id: "RetentionBound" });

const Retention = z
  .object({ runs: Age, events: Bound, artifacts: Bound, files: Bound, builds: Bound })
  .meta({ id: "Retention", description: "What is kept of runs that have ended; without a bound, for ever." });

export const Installation = z
  .object({
    brake: Brake.omit({ changed_by: true, runs: true }).meta({
      id: "InstallationBrake",
      description: "What the operator has stopped, as far as callers need to know.",
    }),
    has_room: z.boolean().meta({
      description:
        "False while a disk of the server that answers is too full for new work, which is refused with 503.",
    }),
    limits: Limits,
    sizes: Sizes,
    retention: Retention,
  })
  .meta({ id: "Installation", description: "What holds for everybody here." });
export type Installation = z.infer<typeof Installation>;
