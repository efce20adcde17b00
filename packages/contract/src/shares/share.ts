import { z } from "zod";
import { limits } from "../limits.ts";
import { Timestamp } from "../text.ts";

const { hours } = limits.share;

/** The prefix of the token in a share link. */
export const sharePrefix = "ors_";

export const ShareRequest = z
  .strictObject({
    expires_in_hours: z
      .int()
      .min(1)
      .max(hours.max)
      .optional()
      .meta({
        description: `Default ${hours.default} (one week). The link never outlives the key that creates it.`,
        examples: [24],
      }),
  })
  .meta({ id: "ShareRequest", examples: [{ expires_in_hours: 24 }] });
export type ShareRequest = z.infer<typeof ShareRequest>;

export const Share = z
  .object({ expires_at: Timestamp })
  .meta({ id: "Share", description: "A public link to the run." });
export type Share = z.infer<typeof Share>;

export const ShareResponse = z
  .object({
    link: z
      .string()
      .optional()
      .meta({ description: "The link, shown only once. Absent in a replayed response.", format: "uri" }),
    expires_at: Timestamp,
  })
  .meta({ id: "ShareResponse" });
export type ShareResponse = z.infer<typeof ShareResponse>;
