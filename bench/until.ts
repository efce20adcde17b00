const PATIENCE_MS = 120_000;

/** Looks again and again until it holds. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  everyMs = 10,
): Promise<void> {
  for (const deadline = Date.now() + PATIENCE_MS; !(await holds()); ) {
    if (Date.now() > deadline) throw new Error(`In vain waited for: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
