import type { Readable } from "node:stream";

/** Reads to the end, for the sake of whoever writes, but keeps only the beginning. */
export async function firstBytes(stream: Readable, limit: number): Promise<Buffer> {
  const kept: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (size < limit) kept.push(chunk.subarray(0, limit - size));
    size += chunk.length;
  }
  return Buffer.concat(kept);
}
