import { z } from "zod";
import { limits } from "./limits.ts";
import { ListRunsQuery } from "./query.ts";
import { RunCreatorInfo } from "./run.ts";
import { unfinishedStates } from "./run-state.ts";
import { Timestamp, text } from "./text.ts";

const PauseState = z.enum(["open", "paused"]);

const admission = PauseState.meta({
  description: "`paused`: calls that would start new work are rejected with 503.",
});
const queue = PauseState.meta({
  description: "`paused`: workers get no new work. They finish their current work.",
});
const mode = z.enum(["normal", "read_only"]).meta({
  description: "`read_only`: calls that write are rejected with 503. Workers finish their current work.",
});
const message = text({ max: limits.maintenanceMessage }).meta({
  description: "Message from the operator, included in every rejected call.",
  examples: ["Database migration until 14:00 UTC."],
});

export const MaintenanceRequest = z
  .strictObject({
    admission: admission.optional(),
    queue: queue.optional(),
    mode: mode.optional(),
    message: message.optional(),
  })
  .meta({
    id: "MaintenanceRequest",
    description:
      "Replaces all maintenance settings. Absent fields are reset to `open`, `normal`, or no message.",
    examples: [{ admission: "paused", message: "Back at 14:00 UTC." }],
  });
export type MaintenanceRequest = z.infer<typeof MaintenanceRequest>;

export const Maintenance = z
  .object({
    admission,
    queue,
    mode,
    message: message.optional(),
    changed_at: Timestamp.optional().meta({ description: "Absent if the settings were never changed." }),
    changed_by: RunCreatorInfo.optional(),
    runs: z.object({ queued: z.int(), in_progress: z.int(), blocked: z.int() }).meta({
      description: "Unfinished runs. While the queue is paused, `in_progress` falls to 0.",
    }),
  })
  .meta({ id: "Maintenance", description: "Maintenance settings of the installation." });
export type Maintenance = z.infer<typeof Maintenance>;

/** The filters of the run list that apply to unfinished runs. */
const Filter = ListRunsQuery.omit({
  limit: true,
  cursor: true,
  sort_by: true,
  sort_order: true,
  include_total: true,
  name: true,
  state: true,
  metadata: true,
})
  .extend({
    state: z.array(z.enum(unfinishedStates)).min(1).max(unfinishedStates.length).optional(),
    metadata: ListRunsQuery.shape.metadata.meta({ description: "All pairs must match." }),
  })
  .meta({
    id: "CancelRunsFilter",
    description:
      "The filters of the run list, applied to unfinished runs. Without filters, all unfinished runs match.",
  });

export const CancelRunsRequest = z
  .strictObject({
    filter: Filter.optional(),
    dry_run: z.boolean().meta({
      description: "`true` only counts the matching runs. Required, as a safeguard.",
    }),
  })
  .meta({ id: "CancelRunsRequest", examples: [{ filter: { state: ["QUEUED"] }, dry_run: true }] });
export type CancelRunsRequest = z.infer<typeof CancelRunsRequest>;

export const CancelRunsResponse = z
  .object({
    cancelled: z.int().meta({
      description: `Runs that this call cancelled: at most ${limits.cancelBatch}, oldest first. 0 with \`dry_run\`.`,
    }),
    remaining: z
      .int()
      .meta({ description: "Number of runs that still match. Repeat the call until it is 0." }),
  })
  .meta({ id: "CancelRunsResponse" });
export type CancelRunsResponse = z.infer<typeof CancelRunsResponse>;
