import type { FastifyReply, FastifyRequest } from "fastify";
import { ApiError } from "../../engine/api-error.ts";
import { hashKey } from "../../engine/auth/keys.ts";
import { type Principal, principalOf, principalOfSession } from "../../engine/auth/principal.ts";
import { hashSession } from "../../engine/auth/sign-in.ts";
import { networkOf } from "../../engine/limits/client-network.ts";
import { topics } from "../../engine/live/pubsub.ts";
import { findKeyOwner, findKeyOwners, type KeyOwner, recordKeyUse } from "../../store/auth/keys.ts";
import { findSessionOwner, recordSessionUse } from "../../store/auth/sessions.ts";
import { startTicker } from "../../ticker.ts";
import { readSessionCookie, requireSameOrigin } from "../http/cookie.ts";
import type { Services } from "./call.ts";
import type { RateLimits } from "./rate-limits.ts";
import { RecentCallers } from "./recent-callers.ts";
import { WorkerKeys } from "./worker-keys.ts";

const RECORD_USE_INTERVAL_MS = 10_000;

export interface Authenticator {
  /** Authenticates by API key, or by the browser's session cookie if no key is sent. Counts the request. */
  authenticate(request: FastifyRequest, reply: FastifyReply): Promise<Principal>;
  close(): Promise<void>;
}

/**
 * Authenticates requests. Every request is checked against the database, so that a revoked credential is rejected
 * immediately by every server. Only the requests that idle workers repeat are not: see worker-keys.ts.
 *
 * Failed attempts count toward a limit for the client's network, so that keys cannot be guessed. That limit does not
 * apply to recently authenticated clients, so that a stranger behind the same address cannot lock them out.
 */
export function createAuthenticator(
  {
    db,
    databaseHealth,
    counters,
    origin,
    pubsub,
  }: Pick<Services, "db" | "databaseHealth" | "counters" | "origin" | "pubsub">,
  rateLimits: RateLimits,
): Authenticator {
  const recentCallers = new RecentCallers();
  /** Authentications in progress, by caller, for callers that are not in `recentCallers` yet. */
  const firstRequests = new Map<string, Promise<Principal>>();
  const usedKeys = new Set<string>();
  const usedSessions = new Set<string>();
  // `last_used_at` only has to be accurate to a few seconds, so it is written in batches.
  const flush = async () => {
    const keyIds = [...usedKeys];
    const sessionIds = [...usedSessions];
    usedKeys.clear();
    usedSessions.clear();
    const onFailure = () => counters.failed("last_used");
    if (keyIds.length > 0) await recordKeyUse(db, keyIds).catch(onFailure);
    if (sessionIds.length > 0) await recordSessionUse(db, sessionIds).catch(onFailure);
  };
  const ticker = startTicker({ everyMs: RECORD_USE_INTERVAL_MS, task: flush });
  const findOwnerOfKey = coalesce((hash) => findKeyOwner(db, hash));
  const findOwnerOfSession = coalesce((hash) => findSessionOwner(db, hash));
  const workerKeys = new WorkerKeys((hashes) => findKeyOwners(db, hashes));
  const unsubscribe = pubsub.on(topics.keys, () => workerKeys.forget());

  async function authenticateKey(
    hash: Buffer | undefined,
    findOwner: (hash: Buffer) => Promise<KeyOwner | undefined>,
  ): Promise<Principal> {
    if (!hash)
      throw new ApiError(
        "authentication_required",
        "The API key is malformed. Check that it was copied completely.",
      );
    const owner = await findOwner(hash);
    if (!owner) throw new ApiError("authentication_required", "The API key is unknown, expired or revoked.");
    usedKeys.add(owner.key_id);
    return principalOf(owner);
  }

  async function authenticateSession(hash: Buffer | undefined): Promise<Principal> {
    const owner = hash && (await findOwnerOfSession(hash));
    if (!owner) throw new ApiError("authentication_required", "The session has expired. Sign in again.");
    usedSessions.add(owner.session_id);
    return principalOfSession(owner);
  }

  /** Returns the hash of the request's credential and a function that looks up its owner. */
  function credentialOf(request: FastifyRequest): { hash?: Buffer | undefined; find(): Promise<Principal> } {
    const [authorization, ...more] = request.raw.headersDistinct.authorization ?? [];
    const reject = (detail: string) => async () => {
      throw new ApiError("authentication_required", detail);
    };
    if (more.length > 0) return { find: reject("Send exactly one `Authorization` header.") };
    if (authorization) {
      const raw = /^Bearer +([!-~]+) *$/i.exec(authorization)?.[1];
      const hash = raw === undefined ? undefined : hashKey(raw);
      const { operation = "" } = request.routeOptions.config as { operation?: string };
      const findOwner = operation.startsWith("worker.")
        ? (known: Buffer) => workerKeys.findOwner(known)
        : findOwnerOfKey;
      return { hash, find: () => authenticateKey(hash, findOwner) };
    }
    const token = readSessionCookie(request, origin());
    if (!token) return { find: reject("Send `Authorization: Bearer KEY`.") };
    if (request.method !== "GET" && request.method !== "HEAD") requireSameOrigin(request, origin());
    const hash = hashSession(token);
    return { hash, find: () => authenticateSession(hash) };
  }

  async function identify(request: FastifyRequest): Promise<Principal> {
    const { hash, find } = credentialOf(request);
    if (!hash) return rateLimits.guess(request, find);
    const caller = `${networkOf(request.ip)} ${hash.toString("base64")}`;
    // A client often sends its first requests in parallel. Only one of them counts as a guess; the others wait for it.
    await firstRequests.get(caller)?.catch(() => {});
    if (recentCallers.has(caller)) {
      return find().catch((error) => {
        if (error instanceof ApiError) recentCallers.delete(caller);
        throw error;
      });
    }
    const first = rateLimits.guess(request, find);
    firstRequests.set(caller, first);
    try {
      const principal = await first;
      recentCallers.add(caller);
      return principal;
    } finally {
      if (firstRequests.get(caller) === first) firstRequests.delete(caller);
    }
  }

  return {
    async authenticate(request, reply) {
      const { operation = "" } = request.routeOptions.config as { operation?: string };
      // Workers wait for a slow database, because there are few of them and they retry anyway. Other callers fail fast.
      const admit = async () => {
        const principal = await identify(request);
        await rateLimits.count(principal, request, reply);
        return principal;
      };
      return operation.startsWith("worker.") ? admit() : databaseHealth.failFast(admit);
    },
    async close() {
      unsubscribe();
      await ticker.stop();
      await flush();
    },
  };
}

/** Lets lookups of the same hash in one event-loop turn share a query, which starts after all of them have arrived. */
function coalesce<T>(find: (hash: Buffer) => Promise<T>): (hash: Buffer) => Promise<T> {
  const pending = new Map<string, Promise<T>>();
  return (hash) => {
    const name = hash.toString("base64");
    const running = pending.get(name);
    if (running) return running;
    const nextTurn = new Promise<void>((resolve) => setImmediate(resolve));
    const result = nextTurn.then(() => {
      pending.delete(name);
      return find(hash);
    });
    pending.set(name, result);
    return result;
  };
}
