import { limits } from "@outrider/contract/limits";
import type { FastifyRequest } from "fastify";
import { Refusal } from "../engine/refusal.ts";

const NAME = "outrider_session";
/** The server knows when a session ends; the browser only has to keep the cookie for as long as one can last. */
const SECONDS = limits.signIn.maxDays * 86_400;

/** Over TLS, the prefix makes browsers refuse a cookie of this name from a neighbouring host or without TLS. */
function nameAt(origin: string): string {
  return origin.startsWith("https://") ? `__Host-${NAME}` : NAME;
}

function cookie(origin: string, value: string, seconds: number): string {
  const secure = origin.startsWith("https://") ? "; Secure" : "";
  return `${nameAt(origin)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`;
}

export const sessionCookie = (origin: string, token: string) => cookie(origin, token, SECONDS);

export const endedCookie = (origin: string) => cookie(origin, "", 0);

/** The token of the session that the browser says it has. */
export function readSessionCookie(request: FastifyRequest, origin: string): string | undefined {
  const name = `${nameAt(origin)}=`;
  const pairs = (request.headers.cookie ?? "").split(";").map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(name))?.slice(name.length) || undefined;
}

/**
 * A browser sends the cookie along with what other pages make it ask for. What changes something must therefore come
 * from a page of ours; browsers say so themselves, and pages cannot make them lie.
 */
export function requireOwnPage(request: FastifyRequest, origin: string) {
  const { origin: sender, "sec-fetch-site": site } = request.headers;
  const isOwn = site === undefined ? sender === new URL(origin).origin : site === "same-origin";
  if (isOwn) return;
  const from = sender ?? (site ? "another page" : "an unknown page");
  throw new Refusal(
    "not_authorized",
    `This request comes with a browser's session, but from ${from}. With a session, only pages of ${new URL(origin).origin} may change anything; programs use a key.`,
  );
}
