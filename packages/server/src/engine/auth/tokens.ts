import { hash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PREFIX = 4;
const BODY = 43;
const CHECKSUM = 6;

function base62(bytes: Buffer, width: number): string {
  let rest = BigInt(`0x${bytes.toString("hex")}`);
  let text = "";
  for (; text.length < width; rest /= 62n) text = ALPHABET[Number(rest % 62n)] + text;
  return text;
}

function checksum(body: string): string {
  let rest = crc32(body);
  let text = "";
  for (; text.length < CHECKSUM; rest = Math.floor(rest / 62)) text = ALPHABET[rest % 62] + text;
  return text;
}

/**
 * Creates a token: a prefix that identifies its kind, 32 random bytes, and a checksum that detects truncation and
 * typos.
 */
export function newToken(prefix: string): string {
  const body = prefix + base62(randomBytes(32), BODY);
  return body + checksum(body);
}

const wellFormed = new RegExp(`^[a-z]{${PREFIX - 1}}_[0-9A-Za-z]{${BODY + CHECKSUM}}$`);

/**
 * Hashes a token for storage or lookup. Returns undefined if the text is not a well-formed token with one of these
 * prefixes. Tokens are random, so a fast hash is sufficient, and the timing of a lookup by hash reveals nothing.
 */
export function hashToken(raw: string, prefixes: readonly string[]): Buffer | undefined {
  if (!wellFormed.test(raw) || !prefixes.includes(raw.slice(0, PREFIX))) return undefined;
  const body = raw.slice(0, -CHECKSUM);
  return checksum(body) === raw.slice(-CHECKSUM) ? hash("sha256", raw, "buffer") : undefined;
}
