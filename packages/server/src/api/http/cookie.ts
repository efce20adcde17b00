import { limits } from "@outrider/contract/limits";
import type { FastifyRequest } from "fastify";
import { ApiError } from "../../engine/api-error.ts";

const NAME = "outrider_session";
/** The maximum lifetime of a session. The server may end a session earlier; the cookie only has to last long enough. */
const MAX_AGE_SECONDS = limits.signIn.maxDays * 86_400;

/** With the `__Host-` prefix, browsers do not let sibling domains or pages without TLS set this cookie. */
function cookieName(origin: string): string {
  return origin.startsWith("https://") ? `__Host-${NAME}` : NAME;
}

function formatCookie(origin: string, value: string, seconds: number): string {
  const secure = origin.startsWith("https://") ? "; Secure" : "";
  return `${cookieName(origin)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`;
}

export const sessionCookie = (origin: string, token: string) => formatCookie(origin, token, MAX_AGE_SECONDS);

export const expiredSessionCookie = (origin: string) => formatCookie(origin, "", 0);

/** Returns the session token that the browser sent. */
export function readSessionCookie(request: FastifyRequest, origin: string): string | undefined {
  const name = `${cookieName(origin)}=`;
  const pairs = (request.headers.cookie ?? "").split(";").map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(name))?.slice(name.length) || undefined;
}

/**
 * Protects against cross-site request forgery. Browsers also send the cookie with requests that other sites trigger, so
 * requests that change data must come from our own origin. The browser sets the headers that are checked here, and
 * pages cannot forge them.
 */
export function requireSameOrigin(request: FastifyRequest, origin: string) {
  const { origin: sender, "sec-fetch-site": site } = request.headers;
  const isSameOrigin = site === undefined ? sender === new URL(origin).origin : site === "same-origin";
  if (isSameOrigin) return;
  const from = sender ?? (site ? "another site" : "an unknown page");
  const own = new URL(origin).origin;
  throw new ApiError(
    "not_authorized",
    `Cross-site request rejected: it uses a browser session but comes from ${from}. Only pages of ${own} can make changes with a session. Programs must use an API key.`,
  );
}
