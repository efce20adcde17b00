import { SetPasswordRequest, SignInRequest, UseLinkRequest } from "@outrider/contract/sign-in";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import { Refusal } from "../engine/refusal.ts";
import {
  hashSession,
  type SignedIn,
  setPassword,
  signInByLink,
  signInByPassword,
} from "../engine/sign-in.ts";
import { endSession } from "../store/sessions.ts";
import type { Authenticator } from "./auth.ts";
import type { Services } from "./call.ts";
import { endedCookie, readSessionCookie, requireOwnPage, sessionCookie } from "./cookie.ts";
import { readJson } from "./json.ts";
import type { RateLimits } from "./rate-limits.ts";
import { BASE, bodyMembers, bodyOf, queryOf } from "./request.ts";
import { meOf } from "./routes/people.ts";

const BODY_BYTES = 16 * 1024;

interface SignInOptions {
  services: Services;
  authenticator: Authenticator;
  rateLimits: RateLimits;
}

/** How browsers get, use up and give back a session. No key is taken here: a program has nothing to sign in to. */
export function registerSignIn(app: FastifyInstance, { services, authenticator, rateLimits }: SignInOptions) {
  const { db, origin } = services;
  app.register(async (corner) => {
    corner.addHook("onRequest", async (request) => {
      if (request.headers.authorization !== undefined) {
        throw new Refusal("invalid_request", "This call is for browsers: leave `Authorization` out.");
      }
      // Another page must not sign its visitor in as somebody else either. Programs, which say nothing, may try things.
      const { origin: sender, "sec-fetch-site": site } = request.headers;
      if (sender !== undefined || site !== undefined) requireOwnPage(request, origin());
    });

    corner.post(`${BASE}/auth/sign-in`, options("auth.signIn"), async (request, reply) => {
      const asked = read(SignInRequest, request);
      return welcome(reply, await rateLimits.guess(request, () => signInByPassword(db, asked, request.ip)));
    });

    corner.post(`${BASE}/auth/link`, options("auth.useLink"), async (request, reply) => {
      const { token } = read(UseLinkRequest, request);
      return welcome(reply, await rateLimits.guess(request, () => signInByLink(db, token)));
    });

    corner.post(`${BASE}/auth/sign-out`, options("auth.signOut"), async (request, reply) => {
      read(undefined, request);
      const token = readSessionCookie(request, origin());
      if (token) requireOwnPage(request, origin());
      const hash = token && hashSession(token);
      if (hash) await rateLimits.guess(request, () => end(hash)).catch(unlessUnknown);
      return reply.code(204).header("set-cookie", endedCookie(origin())).send();
    });

    corner.put(`${BASE}/auth/password`, options("auth.setPassword"), async (request, reply) => {
      const principal = await authenticator.authenticate(request, reply);
      await setPassword(db, principal, read(SetPasswordRequest, request), request.ip);
      return reply.code(204).send();
    });
  });

  async function end(hash: Buffer) {
    if (!(await endSession(db, hash))) throw new Refusal("authentication_required", "The session is over.");
  }

  function welcome(reply: FastifyReply, { token, principal }: SignedIn) {
    return reply.code(200).header("set-cookie", sessionCookie(origin(), token)).send(meOf(principal));
  }
}

/** Who is signed out already is told the same as who was not. */
function unlessUnknown(error: unknown) {
  if (!(error instanceof Refusal && error.code === "authentication_required")) throw error;
}

function options(operation: string) {
  return { bodyLimit: BODY_BYTES, config: { operation } };
}

function read<T extends z.ZodType>(body: T, request: FastifyRequest): z.infer<T>;
function read(body: undefined, request: FastifyRequest): undefined;
function read(body: z.ZodType | undefined, request: FastifyRequest): unknown {
  const route = { method: "POST" as const, ...(body ? { body } : {}) };
  queryOf(route, request);
  const raw = bodyOf(request);
  const json = raw.length > 0 ? readJson(raw) : undefined;
  return bodyMembers(route, json, raw.length);
}
