import { availableParallelism } from "node:os";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

const SEGMENT_BYTES = 4 * 2 ** 20;
const gzipSegment = promisify(gzip);

/**
 * Compresses a stream on several processors. Each segment becomes a frame of its own, and frames can be concatenated. At
 * most one segment per processor, and the one that is being filled, are in memory.
 */
export async function* compress(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const maxRunning = availableParallelism();
  const running: Promise<Buffer>[] = [];
  const start = (segment: Buffer[]) => {
    const frame = gzipSegment(Buffer.concat(segment), { level: 1 });
    frame.catch(() => {}); // awaited below, in order
    running.push(frame);
  };
  let segment: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    segment.push(chunk);
    bytes += chunk.length;
    if (bytes < SEGMENT_BYTES) continue;
    start(segment);
    [segment, bytes] = [[], 0];
    if (running.length >= maxRunning) yield (await running.shift()) as Buffer;
  }
  if (bytes > 0) start(segment);
  for (const frame of running) yield await frame;
}
