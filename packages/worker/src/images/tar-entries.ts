/** Reads the entries of a tar archive, with the names and sizes that its extra headers give them. */
import type { ByteReader } from "./byte-reader.ts";
import { corrupt, unsupported } from "./image-error.ts";
import { BLOCK, paddingOf, parseHeader, parseRecords, type TarHeader, untilNul } from "./tar-header.ts";

export interface ReadEntry extends TarHeader {
  /** The records of the entry's extended header. */
  records?: Map<string, Buffer>;
  /** The number of bytes that follow the header. */
  bodyBytes: number;
}

const MAX_METADATA_BYTES = 2 ** 20;

interface PendingMetadata {
  name?: string;
  linkName?: string;
  records?: Map<string, Buffer>;
}

/**
 * The consumer must read the body of each entry before it asks for the next one. Sparse files are refused, unless the
 * consumer expands them.
 */
export async function* readEntries(
  reader: ByteReader,
  { allowsSparse = false } = {},
): AsyncGenerator<ReadEntry> {
  let pending: PendingMetadata = {};
  for (;;) {
    const block = await reader.read(BLOCK);
    if (!block) return;
    const header = parseHeader(block);
    if (!header) return await expectEnd(reader);
    if (["L", "K", "x", "g"].includes(header.type)) {
      pending = { ...pending, ...(await readMetadata(reader, header)) };
      continue;
    }
    const entry = applyMetadata(header, pending);
    if (!allowsSparse && isSparse(entry))
      throw unsupported("A layer has sparse files, which are not supported.");
    pending = {};
    yield entry;
    await reader.skip(paddingOf(entry.bodyBytes));
  }
}

/** As in Go's archives, which Docker uses, only files have a body, whatever size a header declares. */
function hasBody(type: string): boolean {
  return !["1", "2", "3", "4", "5", "6"].includes(type);
}

export function isSparse({ type, records }: Pick<ReadEntry, "type" | "records">): boolean {
  return type === "S" || [...(records?.keys() ?? [])].some((key) => key.startsWith("GNU.sparse."));
}

async function expectEnd(reader: ByteReader): Promise<void> {
  const second = await reader.read(BLOCK);
  if (second && parseHeader(second)) throw corrupt("A layer's tar archive continues after its end.");
}

async function readMetadata(reader: ByteReader, { type, size }: TarHeader): Promise<PendingMetadata> {
  if (size < 0 || size > MAX_METADATA_BYTES) throw corrupt("A layer has a tar header that is too large.");
  const data = (await reader.readExactly(size + paddingOf(size))).subarray(0, size);
  if (type === "L") return { name: untilNul(data.toString("latin1")) };
  if (type === "K") return { linkName: untilNul(data.toString("latin1")) };
  // Global headers contain comments. Docker ignores them too.
  return type === "x" ? { records: parseRecords(data) } : {};
}

function applyMetadata(header: TarHeader, pending: PendingMetadata): ReadEntry {
  const { records } = pending;
  const text = (key: string) => {
    const value = records?.get(key)?.toString("latin1");
    if (value?.includes("\0")) throw corrupt("A layer has a name with a NUL character.");
    return value === "" ? undefined : value;
  };
  const integer = (key: string) => {
    const value = text(key);
    if (value === undefined) return undefined;
    if (!/^-?\d{1,19}(?:\.\d*)?$/.test(value))
      throw corrupt("A layer has an extended tar header with an invalid number.");
    return Math.floor(Number(value));
  };
  const name = text("path") ?? pending.name ?? header.name;
  const size = integer("size") ?? header.size;
  if (!Number.isSafeInteger(size) || size < 0) throw corrupt("A layer has a file with an invalid size.");
  // Old archives mark folders only by a slash at the end.
  const type = header.type === "" && name.endsWith("/") ? "5" : header.type;
  return {
    ...header,
    ...(records ? { records } : {}),
    name,
    type,
    bodyBytes: hasBody(type) ? size : 0,
    linkName: text("linkpath") ?? pending.linkName ?? header.linkName,
    size,
    uid: integer("uid") ?? header.uid,
    gid: integer("gid") ?? header.gid,
    mtime: integer("mtime") ?? header.mtime,
  };
}
