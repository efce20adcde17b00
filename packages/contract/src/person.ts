import { z } from "zod";
import { KeyLimits, KeyType, Scope } from "./key.ts";
import { RunCreatorInfo } from "./run.ts";
import { Timestamp, Uuid } from "./text.ts";

export const Role = z.enum(["admin", "member"]).meta({ id: "Role" });
export type Role = z.infer<typeof Role>;

export const Me = z
  .object({
    ...RunCreatorInfo.shape,
    role: Role.optional().meta({ description: "Of a person." }),
    key: z.object({
      key_id: Uuid,
      name: z.string(),
      type: KeyType,
      scopes: z.array(Scope),
      expires_at: Timestamp.optional(),
      limits: KeyLimits.optional(),
    }),
  })
  .meta({ id: "Me", description: "Who the key speaks for, and what it may do." });
export type Me = z.infer<typeof Me>;
