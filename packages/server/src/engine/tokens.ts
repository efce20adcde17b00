import { createHash, randomBytes } from "node:crypto";
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
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return base62(sum, CHECKSUM);
}

/** 32 random bytes behind a prefix that tells the kind, and a checksum that catches a cut or mistyped token. */
export function newToken(prefix: string): string {
  const body = prefix + base62(randomBytes(32), BODY);
  return body + checksum(body);
}

const wellFormed = new RegExp(`^[a-z]{${PREFIX - 1}}_[0-9A-Za-z]{${BODY + CHECKSUM}}$`);

/**
 * What is stored of a token; undefined for a text that cannot be one of these kinds. It is random, so one fast hash is
 * enough, and who looks a hash up learns nothing from how long that takes.
 */
export function hashToken(raw: string, prefixes: readonly string[]): Buffer | undefined {
  if (!wellFormed.test(raw) || !prefixes.includes(raw.slice(0, PREFIX))) return undefined;
  const body = raw.slice(0, -CHECKSUM);
  return checksum(body) === raw.slice(-CHECKSUM) ? createHash("sha256").update(raw).digest() : undefined;
}
