import { createHash } from "node:crypto";
import type { Conditional } from "./forge-client.ts";

/** Stands in for the ETag of a forge whose API or client has none: compares the content instead. */
export function compareContent<T extends object>(content: T, etag: string | undefined): Conditional<T> {
  const tag = createHash("sha256").update(JSON.stringify(content)).digest("base64url");
  return tag === etag ? { isUnchanged: true } : { isUnchanged: false, etag: tag, ...content };
}
