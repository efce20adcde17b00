import type { IncomingHttpHeaders } from "node:http";

/** A part of a file. Both ends are inclusive, as in HTTP and in Node's file streams. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * Returns the part of a file that a request asks for (RFC 9110, section 14). Returns undefined if the whole file must be
 * sent: without a `Range` header, if `If-Range` names another version, and for headers that may be ignored, such as one
 * with several ranges.
 */
export function selectRange(
  { range, "if-range": ifRange }: IncomingHttpHeaders,
  { size, etag }: { size: number; etag: string },
): ByteRange | "unsatisfiable" | undefined {
  if (ifRange !== undefined && String(ifRange).trim() !== etag) return undefined;
  const [, first = "", last = ""] = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(range ?? "") ?? [];
  if (first === "" && last === "") return undefined;
  if (first === "") {
    const length = Math.min(Number(last), size);
    return length === 0 ? "unsatisfiable" : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  const end = last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== "" && Number(last) < start) return undefined;
  return start >= size ? "unsatisfiable" : { start, end };
}
