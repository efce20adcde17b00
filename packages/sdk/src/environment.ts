/** Returns an environment variable. Returns undefined if it is empty or the runtime does not provide access to it. */
export function readEnvironment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  try {
    return process?.env?.[name]?.trim() || undefined;
  } catch {
    return undefined;
  }
}
