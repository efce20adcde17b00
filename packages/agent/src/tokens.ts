/** Every model cuts text its own way. Prose has about four bytes to a token, code about three. */
const BYTES_PER_TOKEN = 3.5;

/** About how many tokens a text has. What a provider counted is better, where there is such a count. */
export function tokensIn(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

export function bytesIn(tokens: number): number {
  return Math.floor(tokens * BYTES_PER_TOKEN);
}
