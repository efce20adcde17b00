const TIMEOUT_MS = 120_000;

/** Polls until the condition is true. Throws after two minutes. */
export async function waitUntil(
  description: string,
  condition: () => boolean | Promise<boolean>,
  everyMs = 10,
): Promise<void> {
  for (const deadline = Date.now() + TIMEOUT_MS; !(await condition()); ) {
    if (Date.now() > deadline) throw new Error(`Timed out waiting for ${description}.`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
