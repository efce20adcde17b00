import type { FastifyReply, FastifyRequest } from "fastify";
import { BASE, pathOf } from "./request.ts";
import { addVary } from "./vary.ts";

/** How long browsers may reuse a preflight response. Chromium reuses none for longer than two hours. */
const MAX_AGE_SECONDS = 7_200;

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/** Request headers that pages may send, besides those that browsers always allow. */
const requestHeaders = [
  ...["Authorization", "Content-Type", "Idempotency-Key", "X-Outrider-Client"],
  ...["Last-Event-ID", "If-None-Match", "Range", "If-Range", "Traceparent"],
];

/** Response headers that pages may read, besides those that browsers always expose. */
const responseHeaders = [
  ...["RateLimit", "RateLimit-Policy", "Retry-After", "X-Should-Retry", "Idempotent-Replayed"],
  ...["Location", "ETag", "Accept-Ranges", "Content-Range", "Content-Disposition"],
  ...["Allow", "WWW-Authenticate", "X-Trace-Id", "Deprecation", "Sunset"],
];

/**
 * Lets pages of other origins call the API with a key (cross-origin resource sharing). The operator lists the origins;
 * without a list, browsers block all such calls.
 *
 * Cookies are never allowed: a response to a request with cookies gets no headers that would let a page read it. So a
 * listed origin can do nothing in the name of a signed-in user. The sign-in and worker routes are never shared.
 */
export class Cors {
  readonly #origins: ReadonlySet<string>;

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /** Adds the headers for the caller's origin. Returns true if the request is a preflight, which they answer. */
  apply(request: FastifyRequest, reply: FastifyReply): boolean {
    if (this.#origins.size === 0 || !isShared(pathOf(request))) return false;
    // Also for callers without an origin: a cache must not give their response to a page.
    addVary(reply, "origin");
    const { origin, cookie, "access-control-request-method": requestedMethod } = request.headers;
    if (origin === undefined || !this.#origins.has(origin) || cookie !== undefined) return false;
    reply.header("access-control-allow-origin", origin);
    if (request.method !== "OPTIONS" || requestedMethod === undefined) {
      reply.header("access-control-expose-headers", responseHeaders.join(", "));
      return false;
    }
    reply.headers({
      "access-control-allow-methods": methods.join(", "),
      "access-control-allow-headers": requestHeaders.join(", "),
      "access-control-max-age": String(MAX_AGE_SECONDS),
    });
    return true;
  }
}

function isShared(path: string): boolean {
  return path.startsWith(`${BASE}/`) && !/^\/(auth|worker)(\/|$)/.test(path.slice(BASE.length));
}
