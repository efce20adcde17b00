import { z } from "zod";
import { limits } from "./limits.ts";
import { integer } from "./query.ts";
import { RunItem } from "./run.ts";
import { parseTime, Timestamp } from "./text.ts";

const creator = z
  .literal("me")
  .meta({ description: "Only your own runs. Default: all runs that you can see." });

export const ListAttentionQuery = z.strictObject({
  creator: creator.optional(),
  limit: integer({ min: 0, max: limits.attention.count })
    .optional()
    .meta({ description: "Maximum number of runs. 0 returns only the count. Default 20." }),
});

export const ListAttentionResponse = z
  .object({
    count: z
      .int()
      .meta({ description: `Number of runs that need attention, up to ${limits.attention.count}.` }),
    has_more: z.boolean().meta({ description: "True if more than `count` runs need attention." }),
    runs: z.array(RunItem),
  })
  .meta({ id: "ListAttentionResponse" });
export type ListAttentionResponse = z.infer<typeof ListAttentionResponse>;

export const AttentionRequest = z
  .strictObject({
    snoozed_until: Timestamp.refine((value) => parseTime(value), "is out of range")
      .optional()
      .meta({
        description:
          "When the run needs attention again. Without it, the run is dismissed until its state changes.",
      }),
  })
  .meta({ id: "AttentionRequest" });
export type AttentionRequest = z.infer<typeof AttentionRequest>;

export const DismissAttentionRequest = z
  .strictObject({ creator: creator.optional() })
  .meta({ id: "DismissAttentionRequest" });

export const DismissAttentionResponse = z
  .object({ dismissed: z.int().meta({ description: "Number of runs that this call dismissed." }) })
  .meta({ id: "DismissAttentionResponse" });
