import type { Readable } from "node:stream";

/** Reads a stream to its end, so that its writer never blocks, and returns only the first `limit` bytes. */
export async function firstBytes(stream: Readable, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (size < limit) chunks.push(chunk.subarray(0, limit - size));
    size += chunk.length;
  }
  return Buffer.concat(chunks);
}
