import { z } from "zod";
import { Timestamp, text, Uuid } from "./text.ts";

const members = {
  name: text({ max: 128 }),
  description: text({ min: 0, max: 2_000 }).optional(),
  model_id: text({ max: 128 }).optional().meta({ description: "Of its runs, where they set none." }),
  environment_id: Uuid.optional().meta({ description: "Of its runs, where they set none." }),
  max_concurrent_runs: z
    .int()
    .min(1)
    .max(100_000)
    .optional()
    .meta({ description: "How many of its runs may be at work at once." }),
};

export const IdentityRequest = z
  .strictObject(members)
  .meta({ id: "CloudAgentRequest", examples: [{ name: "release-bot" }] });
export type IdentityRequest = z.infer<typeof IdentityRequest>;

export const Identity = z
  .object({
    uid: Uuid,
    ...members,
    owner_uid: Uuid.meta({ description: "The person who made it and steers its runs." }),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: "CloudAgent", description: "A non-human identity that owns runs." });
export type Identity = z.infer<typeof Identity>;

export const ListIdentitiesResponse = z
  .object({ identities: z.array(Identity) })
  .meta({ id: "ListIdentitiesResponse" });
