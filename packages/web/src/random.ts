/**
 * Returns 32 random hex digits. `crypto.randomUUID` is unavailable on pages that are served over plain HTTP, except on
 * localhost.
 */
export function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}
