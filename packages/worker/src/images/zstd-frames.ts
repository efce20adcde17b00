import { ByteReader } from "./byte-reader.ts";
import { corrupt } from "./image-error.ts";

const FRAME_MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC = 0x184d2a50;
const BATCH_BYTES = 64 * 1024;
const RLE = 1;

/**
 * Cuts zstd data so that no piece spans two frames, and removes skippable frames. Node's decompressor ignores the rest of
 * a write after the end of a frame, but some tools create one frame for each file of a layer (zstd:chunked).
 */
export async function* cutFrames(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const reader = new ByteReader(input);
  for (;;) {
    const magic = await reader.read(4);
    if (!magic) return;
    const number = magic.readUInt32LE();
    if ((number & 0xfffffff0) >>> 0 === SKIPPABLE_MAGIC) {
      await reader.skip((await reader.readExactly(4)).readUInt32LE());
    } else if (number === FRAME_MAGIC) {
      yield* readFrame(reader, magic);
    } else {
      throw corrupt("A layer's zstd data is invalid.");
    }
  }
}

async function* readFrame(reader: ByteReader, magic: Buffer): AsyncGenerator<Buffer> {
  const descriptor = await reader.readExactly(1);
  const flags = descriptor[0] ?? 0;
  const isSingleSegment = (flags & 0x20) !== 0;
  const dictionaryBytes = [0, 1, 2, 4][flags & 3] ?? 0;
  const sizeBytes = [isSingleSegment ? 1 : 0, 2, 4, 8][flags >> 6] ?? 0;
  const fields = await reader.readExactly((isSingleSegment ? 0 : 1) + dictionaryBytes + sizeBytes);
  let batch = [magic, descriptor, fields];
  let batchBytes = 0;
  for (let isLast = false; !isLast; ) {
    const header = await reader.readExactly(3);
    const value = header.readUIntLE(0, 3);
    isLast = (value & 1) === 1;
    const size = ((value >> 1) & 3) === RLE ? 1 : value >> 3;
    batch.push(header);
    for await (const chunk of reader.take(size)) batch.push(chunk);
    batchBytes += size;
    if (batchBytes < BATCH_BYTES || isLast) continue;
    yield Buffer.concat(batch);
    batch = [];
    batchBytes = 0;
  }
  if (flags & 4) batch.push(await reader.readExactly(4));
  yield Buffer.concat(batch);
}
