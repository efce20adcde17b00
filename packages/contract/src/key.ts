import { z } from "zod";
import { parseTime, Timestamp, text, Uuid } from "./text.ts";

export const KeyType = z.enum(["personal", "agent", "worker"]).meta({ id: "KeyType" });
export type KeyType = z.infer<typeof KeyType>;

/** How a raw key begins tells its kind. */
export const keyPrefixes = { personal: "orp_", agent: "ora_", worker: "orw_" } as const satisfies Record<
  KeyType,
  string
>;

export const Scope = z.enum(["runs:read", "runs:write", "admin"]).meta({ id: "Scope" });
export type Scope = z.infer<typeof Scope>;

export const KeyLimits = z
  .strictObject({
    max_concurrent_runs: z.int().min(1).max(100_000).optional(),
    max_cost_usd_per_day: z.number().min(0.01).max(1_000_000).optional(),
    environment_ids: z
      .array(Uuid)
      .min(1)
      .max(100)
      .optional()
      .meta({ description: "The only environments it may use." }),
  })
  .meta({ id: "KeyLimits" });
export type KeyLimits = z.infer<typeof KeyLimits>;

const members = {
  name: text({ max: 128 }),
  type: KeyType,
  agent_uid: Uuid.optional().meta({ description: "The cloud agent of an agent key." }),
  limits: KeyLimits.optional(),
};

export const CreateKeyRequest = z
  .strictObject({
    ...members,
    scopes: z
      .array(Scope)
      .min(1)
      .refine((scopes) => new Set(scopes).size === scopes.length, "names a scope twice")
      .optional()
      .meta({
        uniqueItems: true,
        description: "Default: all that the calling key and the new key's owner both have.",
      }),
    expires_at: Timestamp.refine((value) => parseTime(value), "is out of range").optional(),
  })
  .superRefine(({ type, agent_uid, scopes, limits }, context) => {
    const refuse = (member: string, message: string) =>
      context.addIssue({ code: "custom", path: [member], message });
    if (type === "agent" && agent_uid === undefined) refuse("agent_uid", "is needed for an agent key");
    if (type !== "agent" && agent_uid !== undefined) refuse("agent_uid", "goes with the type `agent` only");
    if (type === "worker" && scopes !== undefined) refuse("scopes", "a worker key has none; leave them out");
    if (type === "worker" && limits !== undefined) refuse("limits", "a worker key has none; leave them out");
    if (type === "agent" && scopes?.includes("admin")) refuse("scopes", "an agent key cannot have `admin`");
  })
  .meta({
    id: "CreateKeyRequest",
    examples: [{ name: "ci", type: "personal", scopes: ["runs:read", "runs:write"] }],
  });
export type CreateKeyRequest = z.infer<typeof CreateKeyRequest>;

const description = {
  key_id: Uuid,
  ...members,
  prefix: z.string().meta({ description: "How the key begins, to tell it from others." }),
  owner_uid: Uuid.meta({
    description: "The person, or for an agent key the cloud agent, that runs are attributed to.",
  }),
  scopes: z.array(Scope),
  created_at: Timestamp,
  expires_at: Timestamp.optional(),
  last_used_at: Timestamp.optional(),
};

export const Key = z.object(description).meta({ id: "Key" });
export type Key = z.infer<typeof Key>;

export const CreateKeyResponse = z
  .object({
    ...description,
    key: z
      .string()
      .optional()
      .meta({ description: "The raw key, this once. Absent when the answer is a replay." }),
  })
  .meta({ id: "CreateKeyResponse" });

export const ListKeysResponse = z.object({ keys: z.array(Key) }).meta({ id: "ListKeysResponse" });
