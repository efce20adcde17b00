import { z } from "zod";
import { limits } from "../limits.ts";
import { Quotas } from "../quota.ts";
import { RunCreatorInfo } from "../run.ts";
import { pattern, Timestamp, text, Uuid } from "../text.ts";
import { KeyLimits, KeyType, Scope } from "./key.ts";

export const Role = z.enum(["admin", "member"]).meta({ id: "Role" });
export type Role = z.infer<typeof Role>;

export const Me = z
  .object({
    ...RunCreatorInfo.shape,
    role: Role.optional().meta({ description: "Role of the user. Absent for a cloud agent." }),
    key: z
      .object({
        key_id: Uuid,
        name: z.string(),
        type: KeyType,
        scopes: z.array(Scope),
        expires_at: Timestamp.optional(),
        limits: KeyLimits.optional(),
      })
      .optional()
      .meta({ description: "The key of this request. Absent for a signed-in browser." }),
    session: z
      .object({
        session_id: Uuid,
        signed_in_by: z.enum(["link", "password"]),
        has_password: z.boolean().meta({ description: "Whether the user has set a password." }),
        created_at: Timestamp,
        expires_at: Timestamp.meta({ description: "When the session ends. Using the session extends it." }),
      })
      .optional()
      .meta({ description: "The session of a signed-in browser. Absent for a key." }),
    quotas: Quotas.optional().meta({ description: "Absent in the response to a sign-in." }),
  })
  .meta({
    id: "Me",
    description: "The user or cloud agent that the key or session belongs to, and its permissions.",
  });
export type Me = z.infer<typeof Me>;

export const Email = pattern(
  /^[!-?A-~]{1,126}@[!-?A-~]{1,126}$/,
  "must have a form such as `ada@example.com`",
).meta({
  examples: ["ada@example.com"],
});
const DisplayName = text({ max: limits.nameCharacters }).meta({
  description: "Name shown in the web app and on runs.",
});

export const User = z
  .object({
    uid: Uuid,
    email: z.string(),
    display_name: z.string(),
    role: Role,
    has_password: z.boolean(),
    created_at: Timestamp,
    last_seen_at: Timestamp.optional().meta({ description: "When the user last used the web app." }),
  })
  .meta({ id: "User" });
export type User = z.infer<typeof User>;

export const ListUsersResponse = z.object({ users: z.array(User) }).meta({ id: "ListUsersResponse" });

export const InviteUserRequest = z
  .strictObject({
    email: Email,
    display_name: DisplayName,
    role: Role.optional().meta({ description: "Default `member`." }),
  })
  .meta({ id: "InviteUserRequest", examples: [{ email: "ada@example.com", display_name: "Ada" }] });
export type InviteUserRequest = z.infer<typeof InviteUserRequest>;

export const UpdateUserRequest = z
  .strictObject({ display_name: DisplayName.optional(), role: Role.optional() })
  .meta({ id: "UpdateUserRequest", examples: [{ role: "admin" }] });
export type UpdateUserRequest = z.infer<typeof UpdateUserRequest>;

const link = z.string().optional().meta({
  description: "The one-time sign-in link, shown only once. Absent in a replayed response.",
  format: "uri",
});

export const SignInLinkResponse = z
  .object({ link, expires_at: Timestamp.meta({ description: "When the link expires if it is not used." }) })
  .meta({ id: "SignInLinkResponse" });
export type SignInLinkResponse = z.infer<typeof SignInLinkResponse>;

export const InviteUserResponse = z
  .object({ user: User, ...SignInLinkResponse.shape })
  .meta({ id: "InviteUserResponse" });
export type InviteUserResponse = z.infer<typeof InviteUserResponse>;
