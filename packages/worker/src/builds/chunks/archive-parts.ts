/**
 * Divides a tar archive into two streams: the headers of its entries, and their contents. A repeated build has the same
 * contents, but other times of modification in its headers. In one stream, these would change every chunk.
 */
import { ByteReader } from "../../images/byte-reader.ts";
import { BLOCK, paddingOf, parseHeader, parseRecords } from "../../images/tar-header.ts";

export type ArchivePart = "headers" | "contents";

/** Data of these entries describes the next entry: extended headers and long names. */
const headerTypes = ["x", "g", "L", "K"];
const MAX_HEADER_BYTES = 16 * 2 ** 20;

export async function* splitArchive(
  archive: AsyncIterable<Buffer>,
): AsyncGenerator<{ part: ArchivePart; data: Buffer }> {
  const reader = new ByteReader(archive);
  for await (const { data, contentBytes } of readHeaders(reader)) {
    yield { part: "headers", data };
    for await (const content of reader.take(contentBytes)) yield { part: "contents", data: content };
  }
}

/** The inverse of `splitArchive`. */
export async function* joinArchive({
  headers,
  contents,
}: Record<ArchivePart, AsyncIterable<Buffer>>): AsyncGenerator<Buffer> {
  const contentReader = new ByteReader(contents);
  for await (const { data, contentBytes } of readHeaders(new ByteReader(headers))) {
    yield data;
    yield* contentReader.take(contentBytes);
  }
}

/** Iterates over the headers. The reader must be after the content of the last one when the next one is requested. */
async function* readHeaders(reader: ByteReader): AsyncGenerator<{ data: Buffer; contentBytes: number }> {
  let extendedSize: number | undefined;
  for (let block = await reader.read(BLOCK); block; block = await reader.read(BLOCK)) {
    const header = parseHeader(block);
    if (!header) {
      // The archive ends with blocks of zeros.
      yield { data: block, contentBytes: 0 };
    } else if (headerTypes.includes(header.type)) {
      if (header.size > MAX_HEADER_BYTES) throw new Error("An extended header of the archive is too large.");
      const data = await reader.readExactly(header.size + paddingOf(header.size));
      if (header.type === "x") extendedSize = sizeIn(data.subarray(0, header.size));
      yield { data: Buffer.concat([block, data]), contentBytes: 0 };
    } else {
      const size = extendedSize ?? header.size;
      extendedSize = undefined;
      yield { data: block, contentBytes: size + paddingOf(size) };
    }
  }
}

/** A file of 8 GiB or more has its size in an extended header. */
function sizeIn(records: Buffer): number | undefined {
  const size = parseRecords(records).get("size");
  return size === undefined ? undefined : Number(size.toString());
}
