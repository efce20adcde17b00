import { z } from "zod";
import { KeyLimits, KeyType, Scope } from "./key.ts";
import { Quotas } from "./quota.ts";
import { RunCreatorInfo } from "./run.ts";
import { pattern, Timestamp, text, Uuid } from "./text.ts";

export const Role = z.enum(["admin", "member"]).meta({ id: "Role" });
export type Role = z.infer<typeof Role>;

export const Me = z
  .object({
    ...RunCreatorInfo.shape,
    role: Role.optional().meta({ description: "Of a person." }),
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
      .meta({ description: "Absent for a browser that is signed in." }),
    session: z
      .object({
        session_id: Uuid,
        signed_in_by: z.enum(["link", "password"]),
        has_password: z.boolean().meta({ description: "Whether the person has set a password." }),
        created_at: Timestamp,
        expires_at: Timestamp.meta({ description: "Where it is not used before; use puts it off." }),
      })
      .optional()
      .meta({ description: "Of a browser that is signed in, instead of a key." }),
    quotas: Quotas.optional().meta({ description: "Absent in the answer to a sign-in." }),
  })
  .meta({ id: "Me", description: "Who the key or the session speaks for, and what it may do." });
export type Me = z.infer<typeof Me>;

const Email = pattern(/^[!-?A-~]{1,126}@[!-?A-~]{1,126}$/, "must be an e-mail address").meta({
  examples: ["ada@example.com"],
});
const DisplayName = text({ max: 128 }).meta({ description: "How the person is shown." });

export const Person = z
  .object({
    uid: Uuid,
    email: z.string(),
    display_name: z.string(),
    role: Role,
    has_password: z.boolean(),
    created_at: Timestamp,
    last_seen_at: Timestamp.optional().meta({ description: "When the person last used the web app." }),
  })
  .meta({ id: "Person" });
export type Person = z.infer<typeof Person>;

export const ListPeopleResponse = z.object({ people: z.array(Person) }).meta({ id: "ListPeopleResponse" });

export const InvitePersonRequest = z
  .strictObject({
    email: Email,
    display_name: DisplayName,
    role: Role.optional().meta({ description: "Default `member`." }),
  })
  .meta({ id: "InvitePersonRequest", examples: [{ email: "ada@example.com", display_name: "Ada" }] });
export type InvitePersonRequest = z.infer<typeof InvitePersonRequest>;

export const UpdatePersonRequest = z
  .strictObject({ display_name: DisplayName.optional(), role: Role.optional() })
  .meta({ id: "UpdatePersonRequest", examples: [{ role: "admin" }] });
export type UpdatePersonRequest = z.infer<typeof UpdatePersonRequest>;

const link = z.string().optional().meta({
  description: "The one-time sign-in link, this once. Absent when the answer is a replay.",
  format: "uri",
});

export const SignInLinkResponse = z
  .object({ link, expires_at: Timestamp.meta({ description: "When the link ends if it is not used." }) })
  .meta({ id: "SignInLinkResponse" });
export type SignInLinkResponse = z.infer<typeof SignInLinkResponse>;

export const InvitePersonResponse = z
  .object({ person: Person, ...SignInLinkResponse.shape })
  .meta({ id: "InvitePersonResponse" });
export type InvitePersonResponse = z.infer<typeof InvitePersonResponse>;
