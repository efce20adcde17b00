/** Files with holes, in the form that GNU tar calls 1.0: the body begins with a list of the regions that have data. */
import type { ByteReader } from "../../../images/byte-reader.ts";
import { corrupt, printable } from "../../../images/image-error.ts";
import type { ReadEntry } from "../../../images/tar-entries.ts";
import { BLOCK, paddingOf, type TarEntry, writePosixHeader } from "../../../images/tar-header.ts";

const maxRegions = 2 ** 20;
const zeros = Buffer.alloc(2 ** 16);

interface Region {
  offset: number;
  size: number;
}

/** Returns the size of a file with its holes. */
export function sparseSizeOf({ name, records }: ReadEntry): number {
  const text = records?.get("GNU.sparse.realsize")?.toString("latin1") ?? "";
  const size = /^\d{1,15}$/.test(text) ? Number(text) : undefined;
  if (size === undefined || records?.get("GNU.sparse.major")?.toString() !== "1") throw invalid(name);
  return size;
}

/** Writes the file without holes. */
export async function* expandSparse(
  reader: ByteReader,
  { entry, header }: { entry: ReadEntry; header: TarEntry },
): AsyncGenerator<Buffer> {
  const size = sparseSizeOf(entry);
  const { regions, bytes } = await readRegions(reader, entry);
  yield writePosixHeader({ ...header, type: "0", linkName: "", size });
  let at = 0;
  let left = entry.bodyBytes - bytes;
  for (const region of regions) {
    left -= region.size;
    if (region.offset < at || region.offset + region.size > size || left < 0) throw invalid(entry.name);
    yield* writeZeros(region.offset - at);
    yield* reader.take(region.size);
    at = region.offset + region.size;
  }
  if (left !== 0) throw invalid(entry.name);
  yield* writeZeros(size - at);
  yield Buffer.alloc(paddingOf(size));
}

/** Returns the regions and how much of the body their list takes. */
async function readRegions(reader: ByteReader, { name, bodyBytes }: ReadEntry) {
  const numbers: number[] = [];
  let text = "";
  let bytes = 0;
  for (let count = 1; numbers.length < count; ) {
    if (bytes + BLOCK > bodyBytes) throw invalid(name);
    text += (await reader.readExactly(BLOCK)).toString("latin1");
    bytes += BLOCK;
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      if (numbers.length === count) break;
      if (!/^\d{1,15}$/.test(line)) throw invalid(name);
      numbers.push(Number(line));
      count = 1 + 2 * (numbers[0] ?? 0);
    }
    if (count > maxRegions || text.length > BLOCK) throw invalid(name);
  }
  const regions: Region[] = [];
  for (let index = 1; index < numbers.length; index += 2)
    regions.push({ offset: numbers[index] ?? 0, size: numbers[index + 1] ?? 0 });
  return { regions, bytes };
}

function* writeZeros(size: number): Generator<Buffer> {
  for (let left = size; left > 0; left -= zeros.length) yield zeros.subarray(0, Math.min(left, zeros.length));
}

const invalid = (name: string) =>
  corrupt(`The build's archive has an invalid file with holes: ${printable(name)}.`);
