const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 8_000;
/** If the server asks for a longer delay, the call fails immediately. */
const MAX_RETRY_AFTER_MS = 60_000;

/** Returns whether to retry. The server's `x-should-retry` header takes precedence. */
export function shouldRetry({ status, headers }: Pick<Response, "status" | "headers">): boolean {
  const shouldRetryHeader = headers.get("x-should-retry");
  const isTemporary = status === 408 || status === 429 || status >= 500;
  const canSucceed = shouldRetryHeader === "true" || (shouldRetryHeader !== "false" && isTemporary);
  return canSucceed && (retryAfterMs(headers) ?? 0) <= MAX_RETRY_AFTER_MS;
}

/** Returns the server's retry delay, or else an exponential backoff with jitter. */
export function retryDelay(attempt: number, headers?: Headers): number {
  const delay = Math.min(FIRST_DELAY_MS * 2 ** (attempt - 1), MAX_DELAY_MS);
  return (headers && retryAfterMs(headers)) ?? delay * (1 - Math.random() / 4);
}

function retryAfterMs(headers: Headers): number | undefined {
  const ms = headers.get("retry-after-ms");
  if (ms !== null && Number.isFinite(Number.parseFloat(ms))) return Math.max(0, Number.parseFloat(ms));
  const after = headers.get("retry-after")?.trim();
  if (!after) return undefined;
  const wait = /^[\d.]+$/.test(after) ? Number.parseFloat(after) * 1_000 : Date.parse(after) - Date.now();
  return Number.isFinite(wait) ? Math.max(0, wait) : undefined;
}

/** The maximum for setTimeout. Longer delays would fire immediately. */
const MAX_TIMER_MS = 2_147_483_647;

/** Calls a function after a delay, capped at the setTimeout maximum. */
export function after(ms: number, callback: () => void): ReturnType<typeof setTimeout> {
  return setTimeout(callback, Math.min(ms, MAX_TIMER_MS));
}

/** Waits. Resolves early, without an error, if the signal aborts. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = after(ms, done);
    signal?.addEventListener("abort", done);
  });
}
