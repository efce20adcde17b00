import type { Readable } from "node:stream";
import { corrupt, unreachable } from "./image-error.ts";

const STALL_MS = 60_000;

/** Reads a body of limited size. */
export async function readBody(body: Readable, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of readChunks(body)) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw corrupt(`The registry sent more than ${maxBytes} bytes for a small answer.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Iterates over a body, which fails if nothing arrives for a minute. */
export async function* readChunks(body: Readable, stallMs = STALL_MS): AsyncGenerator<Buffer> {
  const stalled = () => body.destroy(unreachable(`The registry sent nothing for ${stallMs / 1000} s.`));
  let timer = setTimeout(stalled, stallMs);
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      clearTimeout(timer);
      yield chunk;
      timer = setTimeout(stalled, stallMs);
    }
  } finally {
    clearTimeout(timer);
    body.destroy();
  }
}
