import { type ApiError, tooMany, unavailable } from "../api-error.ts";
import { ConcurrencyLimiter } from "./concurrency-limiter.ts";

const RETRY_SECONDS = 5;
const MAX = 16;
const MAX_PER_CALLER = 4;

/**
 * Limits how many list requests for runs and events a server handles at the same time. Searching a million runs
 * occupies a database connection for a while, so without a limit, list requests could use up all connections. Parsing
 * and serializing large pages also blocks the event loop. Lists never take more than half of the pool's connections.
 */
export function createListLimiter(poolSize: number): ConcurrencyLimiter {
  const max = Math.min(MAX, Math.max(1, Math.floor(poolSize / 2)));
  const maxPerCaller = Math.min(MAX_PER_CALLER, Math.ceil(max / 2));
  return new ConcurrencyLimiter({ max, maxPerCaller, waitMs: 10_000 }, { perCaller, total });
}

function perCaller(): ApiError {
  return tooMany("Too many concurrent list requests. Send them one at a time.", RETRY_SECONDS);
}

function total(): ApiError {
  return unavailable("The service is busy with other list requests. Try again in a moment.", RETRY_SECONDS);
}
