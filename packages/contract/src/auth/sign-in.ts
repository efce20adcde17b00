import { z } from "zod";
import { limits } from "../limits.ts";
import { text } from "../text.ts";
import { Email } from "./user.ts";

/** Sign-in requests. Only the web app uses them: they are not part of the public API and may change at any time. */

/** Prefixes of the tokens in one-time links and in session cookies. */
export const linkPrefix = "orl_";
export const sessionPrefix = "orc_";

const Password = z.string().max(limits.password.max * 4, { error: "is too long" });

export const SignInRequest = z.strictObject({ email: text({ max: 254 }), password: Password });
export type SignInRequest = z.infer<typeof SignInRequest>;

export const UseLinkRequest = z.strictObject({ token: text({ max: 128 }) });
export type UseLinkRequest = z.infer<typeof UseLinkRequest>;

export const SetPasswordRequest = z.strictObject({
  password: text({ min: limits.password.min, max: limits.password.max }),
  current_password: Password.optional(),
});
export type SetPasswordRequest = z.infer<typeof SetPasswordRequest>;

export const SetEmailRequest = z.strictObject({ email: Email, current_password: Password.optional() });
export type SetEmailRequest = z.infer<typeof SetEmailRequest>;

/** What the form of a user's account contains. It is sent in several requests. */
export const AccountValues = z.strictObject({
  display_name: text({ max: limits.nameCharacters }),
  email: Email,
  password: SetPasswordRequest.shape.password,
});
export type AccountValues = z.infer<typeof AccountValues>;

/** Returns the URL of a one-time link. Browsers do not send the part after `#`, so no server log contains the token. */
export function signInLinkUrl(origin: string, token: string): string {
  return `${origin}/login#token=${token}`;
}
