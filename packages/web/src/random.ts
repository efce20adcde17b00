/** `crypto.randomUUID` is hidden from pages over plain HTTP beyond this machine; this is not. */
export function randomName(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}
