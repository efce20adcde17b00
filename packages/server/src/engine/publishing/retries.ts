const MIN_MS = 5_000;
const MAX_MS = 5 * 60_000;

/** Returns the pause after a failed attempt. It doubles from 5 seconds to 5 minutes. */
export function retryDelay(attempts: number): number {
  return Math.min(MIN_MS * 2 ** Math.max(0, Math.min(attempts, 20) - 1), MAX_MS);
}
