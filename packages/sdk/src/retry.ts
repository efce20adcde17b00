const FIRST_MS = 500;
const LONGEST_MS = 8_000;
/** Who is told to wait longer than this is better served by the error at once. */
const PATIENCE_MS = 60_000;

/** Whether the same request may do better later. The service's own word is above all. */
export function mayRetry({ status, headers }: Pick<Response, "status" | "headers">): boolean {
  const word = headers.get("x-should-retry");
  const isPassing = status === 408 || status === 429 || status >= 500;
  const isWorthIt = word === "true" || (word !== "false" && isPassing);
  return isWorthIt && (toldToWait(headers) ?? 0) <= PATIENCE_MS;
}

/** Milliseconds before the next try: what the service asked for, else longer each time, never in step with others. */
export function pauseBefore(attempt: number, headers?: Headers): number {
  const longest = Math.min(FIRST_MS * 2 ** (attempt - 1), LONGEST_MS);
  return (headers && toldToWait(headers)) ?? longest * (1 - Math.random() / 4);
}

function toldToWait(headers: Headers): number | undefined {
  const ms = headers.get("retry-after-ms");
  if (ms !== null && Number.isFinite(Number.parseFloat(ms))) return Math.max(0, Number.parseFloat(ms));
  const after = headers.get("retry-after")?.trim();
  if (!after) return undefined;
  const wait = /^[\d.]+$/.test(after) ? Number.parseFloat(after) * 1_000 : Date.parse(after) - Date.now();
  return Number.isFinite(wait) ? Math.max(0, wait) : undefined;
}

/** The longest that runtimes can wait; more than that would be no wait at all. */
const LONGEST_TIMER_MS = 2_147_483_647;

export function after(ms: number, act: () => void): ReturnType<typeof setTimeout> {
  return setTimeout(act, Math.min(ms, LONGEST_TIMER_MS));
}

/** Ends early, without an error, when the signal fires. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
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
