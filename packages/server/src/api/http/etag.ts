import { createHash } from "node:crypto";

/** Returns an entity tag for a body. It is weak, because the compressed body has the same tag. */
export function weakTag(body: string | Buffer): string {
  return `W/"${createHash("sha256").update(body).digest("base64url").slice(0, 27)}"`;
}

/** Returns whether an `If-None-Match` header lists the tag. Weak and strong tags are compared alike (RFC 9110, 13.1.2). */
export function matchesTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === "*") return true;
  const opaque = (text: string) => text.trim().replace(/^W\//, "");
  return header.split(",").some((listed) => opaque(listed) === opaque(tag));
}
