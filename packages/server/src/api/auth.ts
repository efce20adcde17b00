import type { FastifyReply, FastifyRequest } from "fastify";
import { hashKey } from "../engine/keys.ts";
import { networkOf } from "../engine/networks.ts";
import { type Principal, principalOf, principalOfSession } from "../engine/principal.ts";
import { Refusal } from "../engine/refusal.ts";
import { hashSession } from "../engine/sign-in.ts";
import { findKeyOwner, noteKeyUse } from "../store/keys.ts";
import { findSessionOwner, noteSessionUse } from "../store/sessions.ts";
import { Acquaintances } from "./acquaintances.ts";
import type { Services } from "./call.ts";
import { readSessionCookie, requireOwnPage } from "./cookie.ts";
import type { RateLimits } from "./rate-limits.ts";

const NOTE_USE_MS = 10_000;

export interface Authenticator {
  /** By the key; by the session of the browser's cookie where no key is sent. Counts the request. */
  authenticate(request: FastifyRequest, reply: FastifyReply): Promise<Principal>;
  close(): Promise<void>;
}

/** Asks the database each time, so that a revocation holds from the next request on, on every server. */
export function createAuthenticator(
  { db, pulse, tally, origin }: Pick<Services, "db" | "pulse" | "tally" | "origin">,
  rateLimits: RateLimits,
): Authenticator {
  const acquaintances = new Acquaintances();
  const introductions = new Map<string, Promise<Principal>>();
  const usedKeys = new Set<string>();
  const usedSessions = new Set<string>();
  // When a key was last used is worth knowing to within seconds, not a write for each request.
  const flush = async () => {
    const keyIds = [...usedKeys];
    const sessionIds = [...usedSessions];
    usedKeys.clear();
    usedSessions.clear();
    const lost = () => tally.failed("uses");
    if (keyIds.length > 0) await noteKeyUse(db, keyIds).catch(lost);
    if (sessionIds.length > 0) await noteSessionUse(db, sessionIds).catch(lost);
  };
  const ticker = setInterval(flush, NOTE_USE_MS);
  const keyOwner = askedTogether((hash) => findKeyOwner(db, hash));
  const sessionOwner = askedTogether((hash) => findSessionOwner(db, hash));

  async function byKey(hash: Buffer | undefined): Promise<Principal> {
    if (!hash)
      throw new Refusal("authentication_required", "The key is malformed: cut, mistyped, or no key at all.");
    const owner = await keyOwner(hash);
    if (!owner) throw new Refusal("authentication_required", "The key is unknown, expired or revoked.");
    usedKeys.add(owner.key_id);
    return principalOf(owner);
  }

  async function bySession(hash: Buffer | undefined): Promise<Principal> {
    const owner = hash && (await sessionOwner(hash));
    if (!owner) throw new Refusal("authentication_required", "The session is over. Sign in again.");
    usedSessions.add(owner.session_id);
    return principalOfSession(owner);
  }

  /** What the caller shows, and how it is looked at. */
  function credentialOf(request: FastifyRequest): { hash?: Buffer | undefined; find(): Promise<Principal> } {
    const [authorization, ...more] = request.raw.headersDistinct.authorization ?? [];
    const refused = (detail: string) => async () => {
      throw new Refusal("authentication_required", detail);
    };
    if (more.length > 0) return { find: refused("Send one `Authorization` header, not several.") };
    if (authorization) {
      const raw = /^Bearer +([!-~]+) *$/i.exec(authorization)?.[1];
      const hash = raw === undefined ? undefined : hashKey(raw);
      return { hash, find: () => byKey(hash) };
    }
    const token = readSessionCookie(request, origin());
    if (!token) return { find: refused("Send `Authorization: Bearer KEY`.") };
    if (request.method !== "GET" && request.method !== "HEAD") requireOwnPage(request, origin());
    const hash = hashSession(token);
    return { hash, find: () => bySession(hash) };
  }

  async function identify(request: FastifyRequest): Promise<Principal> {
    const { hash, find } = credentialOf(request);
    if (!hash) return rateLimits.guess(request, find);
    const name = `${networkOf(request.ip)} ${hash.toString("base64")}`;
    // The first requests of a client often come together: one of them shows that its key is good.
    await introductions.get(name)?.catch(() => {});
    if (acquaintances.has(name)) {
      return find().catch((error) => {
        if (error instanceof Refusal) acquaintances.delete(name);
        throw error;
      });
    }
    const introduced = rateLimits.guess(request, find);
    introductions.set(name, introduced);
    try {
      const principal = await introduced;
      acquaintances.add(name);
      return principal;
    } finally {
      if (introductions.get(name) === introduced) introductions.delete(name);
    }
  }

  return {
    async authenticate(request, reply) {
      const { operation = "" } = request.routeOptions.config as { operation?: string };
      // Workers try again by themselves, and there are only so many of them. Nobody else waits for long.
      const admit = async () => {
        const principal = await identify(request);
        await rateLimits.count(principal, request, reply);
        return principal;
      };
      return operation.startsWith("worker.") ? admit() : pulse.bounded(admit);
    },
    async close() {
      clearInterval(ticker);
      await flush();
    },
  };
}

/** Requests that are read in the same moment share one question, which is asked after all of them have come. */
function askedTogether<T>(find: (hash: Buffer) => Promise<T>): (hash: Buffer) => Promise<T> {
  const asking = new Map<string, Promise<T>>();
  return (hash) => {
    const name = hash.toString("base64");
    const asked = asking.get(name);
    if (asked) return asked;
    const moment = new Promise<void>((resolve) => setImmediate(resolve));
    const answer = moment.then(() => {
      asking.delete(name);
      return find(hash);
    });
    asking.set(name, answer);
    return answer;
  };
}
