import { z } from "zod";
import { limits as apiLimits } from "../limits.ts";
import { parseTime, Timestamp, text, Uuid } from "../text.ts";

export const KeyType = z.enum(["personal", "agent", "worker"]).meta({ id: "KeyType" });
export type KeyType = z.infer<typeof KeyType>;

/** The prefix of a raw key identifies its type. */
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
    environment_ids: z.array(Uuid).min(1).max(100).optional().meta({
      description:
        "The only environments that the key can use. The key sees only these environments, their builds and their runs, and each run that it creates must use one of them. It cannot manage environments or secrets.",
    }),
  })
  .meta({ id: "KeyLimits" });
export type KeyLimits = z.infer<typeof KeyLimits>;

const members = {
  name: text({ max: apiLimits.nameCharacters }),
  type: KeyType,
  agent_uid: Uuid.optional().meta({ description: "The cloud agent that an agent key belongs to." }),
  limits: KeyLimits.optional(),
};

export const CreateKeyRequest = z
  .strictObject({
    ...members,
    scopes: z
      .array(Scope)
      .min(1)
      .refine((scopes) => new Set(scopes).size === scopes.length, "must not contain duplicates")
      .optional()
      .meta({
        uniqueItems: true,
        description: "Default: all scopes that both the calling key and the owner have.",
      }),
    expires_at: Timestamp.refine((value) => parseTime(value), "is out of range").optional(),
  })
  .superRefine(({ type, agent_uid, scopes, limits }, context) => {
    const reject = (field: string, message: string) =>
      context.addIssue({ code: "custom", path: [field], message });
    if (type === "agent" && agent_uid === undefined) reject("agent_uid", "is required for an agent key");
    if (type !== "agent" && agent_uid !== undefined) reject("agent_uid", "is only allowed for type `agent`");
    if (type === "worker" && scopes !== undefined) reject("scopes", "must be omitted for a worker key");
    if (type === "worker" && limits !== undefined) reject("limits", "must be omitted for a worker key");
    if (type === "agent" && scopes?.includes("admin"))
      reject("scopes", "must not contain `admin` for an agent key");
  })
  .meta({
    id: "CreateKeyRequest",
    examples: [{ name: "ci", type: "personal", scopes: ["runs:read", "runs:write"] }],
  });
export type CreateKeyRequest = z.infer<typeof CreateKeyRequest>;

const keyFields = {
  key_id: Uuid,
  ...members,
  prefix: z.string().meta({ description: "The first characters of the key, to recognize it." }),
  owner_uid: Uuid.meta({
    description: "The user or cloud agent that runs are attributed to.",
  }),
  scopes: z.array(Scope),
  created_at: Timestamp,
  expires_at: Timestamp.optional(),
  last_used_at: Timestamp.optional(),
};

export const Key = z.object(keyFields).meta({ id: "Key" });
export type Key = z.infer<typeof Key>;

export const CreateKeyResponse = z
  .object({
    ...keyFields,
    key: z
      .string()
      .optional()
      .meta({ description: "The raw key, shown only once. Absent in a replayed response." }),
  })
  .meta({ id: "CreateKeyResponse" });

export const ListKeysResponse = z.object({ keys: z.array(Key) }).meta({ id: "ListKeysResponse" });
