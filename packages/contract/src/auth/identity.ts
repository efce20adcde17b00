import { z } from "zod";
import { ReasoningEffort } from "../agent-config.ts";
import { HarnessName } from "../harness.ts";
import { limits } from "../limits.ts";
import { Timestamp, text, Uuid } from "../text.ts";

const members = {
  name: text({ max: limits.nameCharacters }),
  description: text({ min: 0, max: 2_000 }).optional(),
  model_id: text({ max: 128 })
    .optional()
    .meta({ description: "Default model for runs of this cloud agent." }),
  reasoning_effort: ReasoningEffort.optional().meta({
    description: "Default reasoning effort for runs of this cloud agent, if their model has one.",
  }),
  harness: HarnessName.optional().meta({ description: "Default harness for runs of this cloud agent." }),
  environment_id: Uuid.optional().meta({ description: "Default environment for runs of this cloud agent." }),
  max_concurrent_runs: z
    .int()
    .min(1)
    .max(100_000)
    .optional()
    .meta({ description: "Maximum number of concurrent runs of this cloud agent." }),
};

export const IdentityRequest = z
  .strictObject(members)
  .meta({ id: "IdentityRequest", examples: [{ name: "release-bot" }] });
export type IdentityRequest = z.infer<typeof IdentityRequest>;

export const Identity = z
  .object({
    uid: Uuid,
    ...members,
    owner_uid: Uuid.meta({ description: "The user who created the cloud agent and can steer its runs." }),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: "Identity", description: "A cloud agent: a non-human identity that owns runs." });
export type Identity = z.infer<typeof Identity>;

export const ListIdentitiesResponse = z
  .object({ agents: z.array(Identity) })
  .meta({ id: "ListIdentitiesResponse" });
