import { type ApiError, tooMany, unavailable } from "../api-error.ts";
import { ConcurrencyLimiter } from "./concurrency-limiter.ts";

const RETRY_SECONDS = 5;

/**
 * Limits how many list requests for runs and events a server handles at the same time. Searching a million runs
 * occupies a database connection for a while, so without a limit, list requests could use up all connections. Parsing
 * and serializing large pages also blocks the event loop.
 */
export function createListLimiter(): ConcurrencyLimiter {
  return new ConcurrencyLimiter({ max: 16, maxPerCaller: 4, waitMs: 10_000 }, { perCaller, total });
}

function perCaller(): ApiError {
  return tooMany("Too many concurrent list requests. Send them one at a time.", RETRY_SECONDS);
}

function total(): ApiError {
  return unavailable("The service is busy with other list requests. Try again in a moment.", RETRY_SECONDS);
}
