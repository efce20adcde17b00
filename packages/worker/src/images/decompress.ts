import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { cutFrames } from "./zstd-frames.ts";

const CHUNK_BYTES = 256 * 1024;

/** Detects the compression from the first bytes, because a declared type is sometimes wrong. */
export async function decompress(path: string): Promise<AsyncIterable<Buffer>> {
  await using file = await open(path);
  const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 0);
  const input = createReadStream(path, { highWaterMark: CHUNK_BYTES });
  const magic = buffer.readUInt32LE();
  if ((magic & 0xffff) === 0x8b1f) return compose(input, createGunzip({ chunkSize: CHUNK_BYTES }));
  const isZstd = magic === 0xfd2fb528 || (magic & 0xfffffff0) >>> 0 === 0x184d2a50;
  if (!isZstd) return input;
  return compose(Readable.from(cutFrames(input)), createZstdDecompress({ chunkSize: CHUNK_BYTES }));
}

function compose(input: Readable, decoder: ReturnType<typeof createGunzip>): AsyncIterable<Buffer> {
  // The reader of the decoder gets the error.
  pipeline(input, decoder).catch(() => {});
  return decoder;
}
