import { z } from "zod";
import { limits } from "./limits.ts";
import { text } from "./text.ts";

/** What people and browsers sign in with. These calls are the web app's own and may change with the server. */

/** How the token of a one-time link begins, and that of a browser's cookie. */
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

/** The page behind a one-time link. What follows `#` stays in the browser, so it stands in no log on the way. */
export function linkAddress(origin: string, token: string): string {
  return `${origin}/login#token=${token}`;
}

/** Where a signed-out browser is sent, and from there back to where it was. */
export function signInPath(next: string): string {
  const path = ownPath(next);
  return path === "/" ? "/login" : `/login?next=${encodeURIComponent(path)}`;
}

/** A path of our own, or the home page: `next` must not lead anybody to another host. */
export function ownPath(next: string | null | undefined): string {
  if (!next || !/^\/(?!\/)[!-[\]-~]*$/.test(next)) return "/";
  // A browser resolves dots and escapes before it goes there, so what counts is what it would make of the path.
  const base = "http://own.invalid";
  const url = URL.canParse(next, base) ? new URL(next, base) : undefined;
  const path = url && `${url.pathname}${url.search}${url.hash}`;
  return url?.origin === base && path && !path.startsWith("//") ? path : "/";
}
