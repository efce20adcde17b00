import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";

/**
 * Sends a stream to the stdin of a command. Rejects if the stream fails, but not if the command stops reading: its exit
 * code then says more.
 */
export async function sendAll(source: Readable, stdin: Writable): Promise<void> {
  let hasFailed = false;
  async function* read() {
    try {
      yield* source;
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  }
  await pipeline(read, stdin).catch((error) => {
    if (hasFailed) throw error;
  });
}
