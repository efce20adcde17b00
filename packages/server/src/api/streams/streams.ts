import type { FastifyReply } from "fastify";
import { tooMany, unavailable } from "../../engine/api-error.ts";
import type { Principal } from "../../engine/auth/principal.ts";
import { ConcurrencyLimiter } from "../../engine/limits/concurrency-limiter.ts";
import { subjectOf } from "../pipeline/rate-limits.ts";
import { type EventStream, openStream } from "./sse.ts";

/** An estimate, because it is unknown when the next stream will end. */
const RETRY_SECONDS = 10;

export interface StreamLimits {
  /** The limit on this server, for all callers together. */
  max: number;
  /** The limit for each API key or signed-in user. */
  maxPerCaller: number;
}

/**
 * Limits the number of open streams. Rate limits are not enough: a stream counts as one request, but it uses memory and
 * runs database queries for as long as the client keeps it open.
 */
export class Streams {
  readonly limits: StreamLimits;
  readonly #stopping: AbortSignal;
  readonly #limiter: ConcurrencyLimiter;

  constructor(limits: StreamLimits, stopping: AbortSignal) {
    this.limits = limits;
    this.#stopping = stopping;
    const callerLimitReached = () =>
      tooMany(
        `You have ${limits.maxPerCaller} open streams, which is the limit. Close one first.`,
        RETRY_SECONDS,
      );
    const serverLimitReached = () =>
      unavailable("The server has too many open streams. Retry later.", RETRY_SECONDS);
    this.#limiter = new ConcurrencyLimiter(
      { ...limits, waitMs: 0 },
      { perCaller: callerLimitReached, total: serverLimitReached },
    );
  }

  get rejected(): number {
    return this.#limiter.stats.rejected;
  }

  open(reply: FastifyReply, principal: Principal): EventStream {
    const release = this.#limiter.acquireNow(subjectOf(principal));
    try {
      return openStream(reply, this.#stopping, { onClose: release });
    } catch (error) {
      release();
      throw error;
    }
  }
}
