import { setTimeout as pause } from "node:timers/promises";

/** Waits for a condition; one that throws does not hold yet. */
export async function within(ms: number, what: string, holds: () => Promise<boolean>): Promise<void> {
  let last: unknown;
  for (const deadline = performance.now() + ms; performance.now() < deadline; await pause(50)) {
    try {
      if (await holds()) return;
    } catch (error) {
      last = error;
    }
  }
  throw new Error(`Not within ${ms} ms: ${what}.`, { cause: last });
}
