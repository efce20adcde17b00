import type { RequestOptions } from "./http.ts";
import { sleep } from "./retry.ts";

export interface WaitOptions extends Omit<RequestOptions, "timeout" | "idempotencyKey"> {
  /** Milliseconds until WaitTimeoutError. Default: no limit. */
  timeout?: number;
}

const FIRST_LOOK_MS = 250;
const LONGEST_LOOK_MS = 4_000;

/** Calls `read` with growing pauses until its result is settled. After `timeout`, it throws the error for the last result. */
export async function poll<T>(
  read: (options: RequestOptions) => PromiseLike<T>,
  { timeout = Infinity, ...options }: WaitOptions,
  { isSettled, error }: { isSettled: (value: T) => boolean; error: (value: T) => Error },
): Promise<T> {
  const end = Date.now() + timeout;
  for (let look = FIRST_LOOK_MS; ; look = Math.min(look * 1.5, LONGEST_LOOK_MS)) {
    const value = await read(options);
    if (isSettled(value)) return value;
    if (Date.now() >= end) throw error(value);
    await sleep(Math.min(look, end - Date.now()), options.signal);
  }
}
