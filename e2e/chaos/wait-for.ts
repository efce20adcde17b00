import { setTimeout as pause } from "node:timers/promises";

/** Waits until a condition is true. A condition that throws counts as false. */
export async function waitFor(
  ms: number,
  description: string,
  condition: () => Promise<boolean>,
): Promise<void> {
  let lastError: unknown;
  for (const deadline = performance.now() + ms; performance.now() < deadline; await pause(50)) {
    try {
      if (await condition()) return;
    } catch (error) {
      lastError = error;
    }
  }
  throw new Error(`Timed out after ${ms} ms: ${description}.`, { cause: lastError });
}
