import type { FastifyReply, FastifyRequest } from "fastify";
import type { QuotaSettings } from "../config/quotas.ts";
import { networkOf } from "../engine/networks.ts";
import type { Principal } from "../engine/principal.ts";
import type { Rates, Standing } from "../engine/rates.ts";
import { Refusal, tooMany } from "../engine/refusal.ts";

export const rateNames = ["requests", "creations", "failures"] as const;
export type RateName = (typeof rateNames)[number];

/** What counts as a creation besides being a request. */
const creations = new Set(["createRun", "createRunAlias"]);

/** The failures that guessing shows: with them, the caller has used up one of an address's tries. */
const guesses = new Set(["authentication_required", "resource_not_found", "rate_limited"]);

export interface RateLimits {
  /** Counts a request of somebody known, and tells where that stands. Refuses where the allowance is used up. */
  count(principal: Principal, request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /** Work by which a stranger could find out whether a guess is right. Not begun where the address has guessed too often. */
  guess<T>(request: FastifyRequest, work: () => Promise<T>): Promise<T>;
  /** Counts a request of somebody who needs no name, as many from one address as of a key. */
  countStranger(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /** Where the caller stands, without counting. */
  look(principal: Principal): Promise<Record<"requests" | "creations", Standing>>;
}

export interface RateLimitOptions {
  rates: Rates;
  settings: QuotaSettings;
  refused(name: RateName): void;
}

export function createRateLimits({ rates, settings, refused }: RateLimitOptions): RateLimits {
  const { requestsPerMinute, creationsPerMinute, failuresPerMinute } = settings;

  function refuse(name: RateName, { seconds }: Standing, detail: string): Refusal {
    refused(name);
    return tooMany(`${detail} Go on in ${seconds} s.`, seconds);
  }

  return {
    async count(principal, request, reply) {
      // What workers may do is bounded by how many there are.
      if (principal.key?.type === "worker") return;
      const { operation = "" } = request.routeOptions.config as { operation?: string };
      const subject = subjectOf(principal);
      const ofRequests = await rates.take(`requests ${subject}`, requestsPerMinute);
      const isCreation = creations.has(operation) && !ofRequests.isRefused;
      const ofCreations = isCreation
        ? await rates.take(`creations ${subject}`, creationsPerMinute)
        : undefined;
      reply.headers(headersOf({ requests: ofRequests, ...(ofCreations ? { creations: ofCreations } : {}) }));
      const whose = principal.key ? "The key" : "You";
      const may = principal.key ? "may" : "can";
      if (ofRequests.isRefused) {
        throw refuse("requests", ofRequests, `${whose} ${may} make ${requestsPerMinute} requests a minute.`);
      }
      if (ofCreations?.isRefused) {
        throw refuse("creations", ofCreations, `${whose} ${may} create ${creationsPerMinute} runs a minute.`);
      }
    },

    async countStranger(request, reply) {
      const requests = await rates.take(`requests ${strangerOf(request)}`, requestsPerMinute);
      reply.headers(headersOf({ requests }));
      if (requests.isRefused) {
        const detail = `An address can make ${requestsPerMinute} requests with links a minute.`;
        throw refuse("requests", requests, detail);
      }
    },

    async guess(request, work) {
      const subject = `failures ${networkOf(request.ip)}`;
      const { giveBack, ...taken } = await rates.lend(subject, failuresPerMinute);
      if (taken.isRefused) {
        const detail = "Too many requests without a good key came from this address.";
        throw refuse("failures", taken, detail);
      }
      try {
        const result = await work();
        giveBack();
        return result;
      } catch (error) {
        if (!(error instanceof Refusal && guesses.has(error.code))) giveBack();
        throw error;
      }
    },

    async look(principal) {
      const subject = subjectOf(principal);
      const [requests, created] = await Promise.all([
        rates.look(`requests ${subject}`, requestsPerMinute),
        rates.look(`creations ${subject}`, creationsPerMinute),
      ]);
      return { requests, creations: created };
    },
  };
}

/** A person has one allowance for all browsers in which they are signed in. */
export function subjectOf({ key, personUid }: Principal): string {
  return key ? `key ${key.key_id}` : `person ${personUid}`;
}

/** Of whom only the address is known. */
export function strangerOf(request: FastifyRequest): string {
  return `address ${networkOf(request.ip)}`;
}

/** The fields of draft-ietf-httpapi-ratelimit-headers: the policies that apply, and where each of them stands. */
function headersOf(standings: Record<string, Standing>): Record<string, string> {
  const each = (text: (standing: Standing) => string) =>
    Object.entries(standings)
      .map(([name, standing]) => `"${name}";${text(standing)}`)
      .join(", ");
  return {
    "ratelimit-policy": each(({ limit, windowSeconds }) => `q=${limit};w=${windowSeconds}`),
    ratelimit: each(({ remaining, seconds }) => `r=${remaining};t=${seconds}`),
  };
}
