import { z } from "zod";
import { limits } from "./limits.ts";
import { ListRunsQuery } from "./query.ts";
import { RunCreatorInfo } from "./run.ts";
import { Timestamp, text } from "./text.ts";

const Gate = z.enum(["open", "paused"]);

const intake = Gate.meta({ description: "`paused`: what would begin new work is refused with 503." });
const queue = Gate.meta({ description: "`paused`: workers are given nothing; they finish what they have." });
const mode = z
  .enum(["normal", "read_only"])
  .meta({ description: "`read_only`: what writes is refused with 503. Workers finish what they have." });
const message = text({ max: limits.brakeMessage }).meta({
  description: "The operator's words to callers, in every refusal.",
  examples: ["Back at 14:00 UTC, after the database has moved."],
});

export const BrakeRequest = z
  .strictObject({
    intake: intake.optional(),
    queue: queue.optional(),
    mode: mode.optional(),
    message: message.optional(),
  })
  .meta({
    id: "BrakeRequest",
    description: "The whole of it: what is absent is `open`, `normal`, or no message.",
    examples: [{ intake: "paused", message: "Back at 14:00 UTC." }],
  });
export type BrakeRequest = z.infer<typeof BrakeRequest>;

export const Brake = z
  .object({
    intake,
    queue,
    mode,
    message: message.optional(),
    changed_at: Timestamp.optional().meta({ description: "Absent where it was never used." }),
    changed_by: RunCreatorInfo.optional(),
    runs: z
      .object({ queued: z.int(), in_progress: z.int(), blocked: z.int() })
      .meta({ description: "How many have not ended: with the queue paused, `in_progress` goes to 0." }),
  })
  .meta({ id: "Brake", description: "What the operator has stopped." });
export type Brake = z.infer<typeof Brake>;

/** What has not ended; the rest of the filters are those of the list. */
const Filter = ListRunsQuery.omit({
  limit: true,
  cursor: true,
  sort_by: true,
  sort_order: true,
  name: true,
  state: true,
  metadata: true,
})
  .extend({
    state: z
      .array(z.enum(["QUEUED", "INPROGRESS", "BLOCKED"]))
      .min(1)
      .max(3)
      .optional(),
    metadata: ListRunsQuery.shape.metadata.meta({ description: "Every pair must match." }),
  })
  .meta({
    id: "CancelRunsFilter",
    description: "As in the list of runs, of those that have not ended. Without any, all of them.",
  });

export const CancelRunsRequest = z
  .strictObject({
    filter: Filter.optional(),
    dry_run: z.boolean().meta({
      description: "`true` only counts. Say which: a call that forgets it must not end everything.",
    }),
  })
  .meta({ id: "CancelRunsRequest", examples: [{ filter: { state: ["QUEUED"] }, dry_run: true }] });
export type CancelRunsRequest = z.infer<typeof CancelRunsRequest>;

export const CancelRunsResponse = z
  .object({
    cancelled: z.int().meta({
      description: `How many this call has ended: at most ${limits.cancelBatch}, the oldest first. With \`dry_run\`, 0.`,
    }),
    remaining: z.int().meta({ description: "How many still match. Call again until it is 0." }),
  })
  .meta({ id: "CancelRunsResponse" });
export type CancelRunsResponse = z.infer<typeof CancelRunsResponse>;
