/** A model call's timeouts and retries. */
export interface RetryPolicy {
  maxAttempts: number;
  /** No attempt starts more than this long after the first one. */
  totalMs: number;
  /** The delay before the second attempt; it grows with each attempt. */
  delayMs: number;
  /** The maximum delay between two attempts, even if the provider asks for a longer one. */
  maxDelayMs: number;
  /** The timeout until the first text or tool call, and while the model is reasoning. Long input takes time to read. */
  firstMs: number;
  /** The timeout between two parts of the stream. */
  idleMs: number;
}

export const defaultRetryPolicy: RetryPolicy = {
  maxAttempts: 8,
  totalMs: 10 * 60_000,
  delayMs: 1_000,
  maxDelayMs: 120_000,
  firstMs: 5 * 60_000,
  idleMs: 2 * 60_000,
};

const BACKOFF_FACTOR = 2.5;
/** The backoff stops growing at this multiple of `delayMs`. */
const MAX_BACKOFF = 60;

/**
 * Returns the delay with jitter, so that a worker's runs do not all retry at the same time. The provider's delay is a
 * minimum.
 */
export function retryDelay(
  attempt: number,
  { delayMs, maxDelayMs }: RetryPolicy,
  retryAfterMs: number | undefined,
): number {
  const backoff = delayMs * Math.min(BACKOFF_FACTOR ** (attempt - 1), MAX_BACKOFF);
  const jittered = backoff * (0.5 + Math.random() / 2);
  const delay =
    retryAfterMs === undefined
      ? jittered
      : retryAfterMs + Math.random() * Math.min(delayMs, retryAfterMs) * 0.1;
  return Math.round(Math.min(delay, maxDelayMs));
}
