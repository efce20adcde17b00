import { z } from "zod";
import { limits } from "./limits.ts";
import { Timestamp } from "./text.ts";

const { hours } = limits.share;

/** How the token of a link begins, as keys tell their kind. */
export const sharePrefix = "ors_";

export const ShareRequest = z
  .strictObject({
    expires_in_hours: z
      .int()
      .min(1)
      .max(hours.max)
      .optional()
      .meta({
        description: `Default ${hours.default}, a week, and no longer than the calling key lasts.`,
        examples: [24],
      }),
  })
  .meta({ id: "ShareRequest", examples: [{ expires_in_hours: 24 }] });
export type ShareRequest = z.infer<typeof ShareRequest>;

export const Share = z
  .object({ expires_at: Timestamp })
  .meta({ id: "Share", description: "A link by which anybody can read the run." });
export type Share = z.infer<typeof Share>;

export const ShareResponse = z
  .object({
    link: z
      .string()
      .optional()
      .meta({ description: "The link, this once. Absent when the answer is a replay.", format: "uri" }),
    expires_at: Timestamp,
  })
  .meta({ id: "ShareResponse" });
export type ShareResponse = z.infer<typeof ShareResponse>;
