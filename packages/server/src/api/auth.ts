import type { FastifyRequest } from "fastify";
import { hashKey } from "../engine/keys.ts";
import { type Principal, principalOf, principalOfSession } from "../engine/principal.ts";
import { Refusal } from "../engine/refusal.ts";
import { hashSession } from "../engine/sign-in.ts";
import { findKeyOwner, noteKeyUse } from "../store/keys.ts";
import { findSessionOwner, noteSessionUse } from "../store/sessions.ts";
import type { Services } from "./call.ts";
import { readSessionCookie, requireOwnPage } from "./cookie.ts";

const NOTE_USE_MS = 10_000;

export interface Authenticator {
  /** By the key; by the session of the browser's cookie where no key is sent. */
  authenticate(request: FastifyRequest): Promise<Principal>;
  close(): Promise<void>;
}

/** Asks the database each time, so that a revocation holds from the next request on, on every server. */
export function createAuthenticator({ db, origin }: Pick<Services, "db" | "origin">): Authenticator {
  const usedKeys = new Set<string>();
  const usedSessions = new Set<string>();
  // When a key was last used is worth knowing to within seconds, not a write for each request.
  const flush = async () => {
    const keyIds = [...usedKeys];
    const sessionIds = [...usedSessions];
    usedKeys.clear();
    usedSessions.clear();
    if (keyIds.length > 0) await noteKeyUse(db, keyIds).catch(() => {});
    if (sessionIds.length > 0) await noteSessionUse(db, sessionIds).catch(() => {});
  };
  const ticker = setInterval(flush, NOTE_USE_MS);
  const keyOwner = askedTogether((hash) => findKeyOwner(db, hash));
  const sessionOwner = askedTogether((hash) => findSessionOwner(db, hash));

  async function byKey(authorization: string): Promise<Principal> {
    const raw = /^Bearer +([!-~]+) *$/i.exec(authorization)?.[1];
    const hash = raw === undefined ? undefined : hashKey(raw);
    if (!hash)
      throw new Refusal("authentication_required", "The key is malformed: cut, mistyped, or no key at all.");
    const owner = await keyOwner(hash);
    if (!owner) throw new Refusal("authentication_required", "The key is unknown, expired or revoked.");
    usedKeys.add(owner.key_id);
    return principalOf(owner);
  }

  async function byCookie(request: FastifyRequest, token: string): Promise<Principal> {
    if (request.method !== "GET" && request.method !== "HEAD") requireOwnPage(request, origin());
    const hash = hashSession(token);
    const owner = hash && (await sessionOwner(hash));
    if (!owner) throw new Refusal("authentication_required", "The session is over. Sign in again.");
    usedSessions.add(owner.session_id);
    return principalOfSession(owner);
  }

  return {
    async authenticate(request) {
      const [authorization, ...more] = request.raw.headersDistinct.authorization ?? [];
      if (more.length > 0)
        throw new Refusal("authentication_required", "Send one `Authorization` header, not several.");
      if (authorization) return byKey(authorization);
      const token = readSessionCookie(request, origin());
      if (token) return byCookie(request, token);
      throw new Refusal("authentication_required", "Send `Authorization: Bearer KEY`.");
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
