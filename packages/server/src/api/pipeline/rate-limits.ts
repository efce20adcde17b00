import type { FastifyReply, FastifyRequest } from "fastify";
import type { QuotaSettings } from "../../config/quotas.ts";
import { ApiError, tooMany } from "../../engine/api-error.ts";
import type { Principal } from "../../engine/auth/principal.ts";
import { networkOf } from "../../engine/limits/client-network.ts";
import type { RateStatus, Rates } from "../../engine/limits/rates.ts";

export const rateNames = ["requests", "creations", "failures"] as const;
export type RateName = (typeof rateNames)[number];

/** Operations that also count toward the limit on new runs. */
const creations = new Set(["createRun", "createRunAlias"]);

/** Errors that a wrong guess causes. They count toward the network's limit on failures. */
const guessErrors = new Set(["authentication_required", "resource_not_found", "rate_limited"]);

export interface RateLimits {
  /** Counts a request from an authenticated caller and sets the rate limit headers. Throws if the limit is reached. */
  count(principal: Principal, request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /** Runs `work`, whose result reveals whether a credential is valid. Throws after too many failures from one network. */
  guess<T>(request: FastifyRequest, work: () => Promise<T>): Promise<T>;
  /** Counts a request without credentials toward its network's limit, which equals the limit for a key. */
  countAnonymous(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /** Returns the status of the caller's limits without counting a request. */
  peek(principal: Principal): Promise<Record<"requests" | "creations", RateStatus>>;
}

export interface RateLimitOptions {
  rates: Rates;
  settings: QuotaSettings;
  onRejected(name: RateName): void;
}

export function createRateLimits({ rates, settings, onRejected }: RateLimitOptions): RateLimits {
  const { requestsPerMinute, creationsPerMinute, failuresPerMinute } = settings;

  function limitReached(name: RateName, { seconds }: RateStatus, detail: string): ApiError {
    onRejected(name);
    return tooMany(`${detail} Retry in ${seconds} s.`, seconds);
  }

  return {
    async count(principal, request, reply) {
      // Workers have no rate limit: they are trusted, and an installation has few of them.
      if (principal.key?.type === "worker") return;
      const { operation = "" } = request.routeOptions.config as { operation?: string };
      const subject = subjectOf(principal);
      const requests = await rates.take(`requests ${subject}`, requestsPerMinute);
      const isCreation = creations.has(operation) && !requests.isRefused;
      const createdRuns = isCreation
        ? await rates.take(`creations ${subject}`, creationsPerMinute)
        : undefined;
      reply.headers(headersOf({ requests, ...(createdRuns ? { creations: createdRuns } : {}) }));
      const subjectIs = principal.key ? "This key is" : "You are";
      if (requests.isRefused) {
        throw limitReached(
          "requests",
          requests,
          `${subjectIs} limited to ${requestsPerMinute} requests per minute.`,
        );
      }
      if (createdRuns?.isRefused) {
        throw limitReached(
          "creations",
          createdRuns,
          `${subjectIs} limited to ${creationsPerMinute} new runs per minute.`,
        );
      }
    },

    async countAnonymous(request, reply) {
      const requests = await rates.take(`requests ${anonymousSubject(request)}`, requestsPerMinute);
      reply.headers(headersOf({ requests }));
      if (requests.isRefused) {
        const detail = `Share links are limited to ${requestsPerMinute} requests per minute from one address.`;
        throw limitReached("requests", requests, detail);
      }
    },

    async guess(request, work) {
      const subject = `failures ${networkOf(request.ip)}`;
      const { refund, ...taken } = await rates.takeRefundable(subject, failuresPerMinute);
      if (taken.isRefused) {
        const detail = "Too many requests without a valid key from this address.";
        throw limitReached("failures", taken, detail);
      }
      try {
        const result = await work();
        refund();
        return result;
      } catch (error) {
        if (!(error instanceof ApiError && guessErrors.has(error.code))) refund();
        throw error;
      }
    },

    async peek(principal) {
      const subject = subjectOf(principal);
      const [requests, created] = await Promise.all([
        rates.peek(`requests ${subject}`, requestsPerMinute),
        rates.peek(`creations ${subject}`, creationsPerMinute),
      ]);
      return { requests, creations: created };
    },
  };
}

/** Identifies the caller for limits: by key, or by user, so that all browsers of a user share one limit. */
export function subjectOf({ key, userUid }: Principal): string {
  return key ? `key ${key.key_id}` : `user ${userUid}`;
}

/** Identifies a caller without credentials for limits: by network. */
export function anonymousSubject(request: FastifyRequest): string {
  return `address ${networkOf(request.ip)}`;
}

/** Builds the headers of draft-ietf-httpapi-ratelimit-headers: the policies that apply, and the status of each. */
function headersOf(statuses: Record<string, RateStatus>): Record<string, string> {
  const each = (text: (status: RateStatus) => string) =>
    Object.entries(statuses)
      .map(([name, status]) => `"${name}";${text(status)}`)
      .join(", ");
  return {
    "ratelimit-policy": each(({ limit, windowSeconds }) => `q=${limit};w=${windowSeconds}`),
    ratelimit: each(({ remaining, seconds }) => `r=${remaining};t=${seconds}`),
  };
}
