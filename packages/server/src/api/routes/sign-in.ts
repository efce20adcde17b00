import {
  SetEmailRequest,
  SetPasswordRequest,
  SignInRequest,
  UseLinkRequest,
} from "@outrider/contract/auth/sign-in";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import { ApiError } from "../../engine/api-error.ts";
import {
  hashSession,
  type SignedIn,
  setEmail,
  setPassword,
  signInByLink,
  signInByPassword,
} from "../../engine/auth/sign-in.ts";
import { endSession } from "../../store/auth/sessions.ts";
import { expiredSessionCookie, readSessionCookie, requireSameOrigin, sessionCookie } from "../http/cookie.ts";
import { readJson } from "../http/json-body.ts";
import { BASE, parseBody, parseQuery, readBody } from "../http/request.ts";
import type { Authenticator } from "../pipeline/auth.ts";
import type { Services } from "../pipeline/call.ts";
import type { RateLimits } from "../pipeline/rate-limits.ts";
import { meOf } from "./users.ts";

const BODY_BYTES = 16 * 1024;

interface SignInOptions {
  services: Services;
  authenticator: Authenticator;
  rateLimits: RateLimits;
}

/** Registers the sign-in and sign-out routes for browsers. Requests with an API key are rejected. */
export function registerSignIn(app: FastifyInstance, { services, authenticator, rateLimits }: SignInOptions) {
  const { db, origin } = services;
  app.register(async (scope) => {
    scope.addHook("onRequest", async (request) => {
      if (request.headers.authorization !== undefined) {
        throw new ApiError(
          "invalid_request",
          "This endpoint is for browsers. Omit the `Authorization` header.",
        );
      }
      // Another site must not sign its visitors in as someone else. Programs send neither header and are allowed.
      const { origin: sender, "sec-fetch-site": site } = request.headers;
      if (sender !== undefined || site !== undefined) requireSameOrigin(request, origin());
    });

    scope.post(`${BASE}/auth/sign-in`, options("auth.signIn"), async (request, reply) => {
      const credentials = readBodyAs(SignInRequest, request);
      return sendSession(
        reply,
        await rateLimits.guess(request, () => signInByPassword(db, credentials, request.ip)),
      );
    });

    scope.post(`${BASE}/auth/link`, options("auth.useLink"), async (request, reply) => {
      const { token } = readBodyAs(UseLinkRequest, request);
      return sendSession(reply, await rateLimits.guess(request, () => signInByLink(db, token)));
    });

    scope.post(`${BASE}/auth/sign-out`, options("auth.signOut"), async (request, reply) => {
      readBodyAs(undefined, request);
      const token = readSessionCookie(request, origin());
      if (token) requireSameOrigin(request, origin());
      const hash = token && hashSession(token);
      if (hash) await rateLimits.guess(request, () => endKnownSession(hash)).catch(ignoreUnknownSession);
      return reply.code(204).header("set-cookie", expiredSessionCookie(origin())).send();
    });

    scope.put(`${BASE}/auth/password`, options("auth.setPassword"), async (request, reply) => {
      const principal = await authenticator.authenticate(request, reply);
      await setPassword(db, principal, readBodyAs(SetPasswordRequest, request), request.ip);
      return reply.code(204).send();
    });

    scope.put(`${BASE}/auth/email`, options("auth.setEmail"), async (request, reply) => {
      const principal = await authenticator.authenticate(request, reply);
      await setEmail(db, principal, readBodyAs(SetEmailRequest, request), request.ip);
      return reply.code(204).send();
    });
  });

  async function endKnownSession(hash: Buffer) {
    if (!(await endSession(db, hash)))
      throw new ApiError("authentication_required", "The session has expired.");
  }

  function sendSession(reply: FastifyReply, { token, principal }: SignedIn) {
    return reply.code(200).header("set-cookie", sessionCookie(origin(), token)).send(meOf(principal));
  }
}

/** Ignores an unknown session, so that signing out twice succeeds. */
function ignoreUnknownSession(error: unknown) {
  if (!(error instanceof ApiError && error.code === "authentication_required")) throw error;
}

function options(operation: string) {
  return { bodyLimit: BODY_BYTES, config: { operation } };
}

function readBodyAs<T extends z.ZodType>(body: T, request: FastifyRequest): z.infer<T>;
function readBodyAs(body: undefined, request: FastifyRequest): undefined;
function readBodyAs(body: z.ZodType | undefined, request: FastifyRequest): unknown {
  const route = { method: "POST" as const, ...(body ? { body } : {}) };
  parseQuery(route, request);
  const raw = readBody(request);
  const json = raw.length > 0 ? readJson(raw) : undefined;
  return parseBody(route, json, raw.length);
}
