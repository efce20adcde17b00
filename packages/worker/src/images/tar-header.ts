/**
 * Parses and writes the headers of tar archives.
 *
 * Names are Latin-1 strings: one character per byte, because names in an image may have any encoding.
 */
import { corrupt } from "./image-error.ts";

export const BLOCK = 512;

export interface TarHeader {
  /** As in the archive. Empty for an old-style file. */
  type: string;
  name: string;
  linkName: string;
  mode: number;
  uid: number;
  gid: number;
  size: number;
  mtime: number;
}

/** Parses a block. Returns undefined for a block of zeros, which ends an archive. */
export function parseHeader(block: Buffer): TarHeader | undefined {
  let unsigned = 0;
  let signed = 0;
  for (let at = 0; at < BLOCK; at++) {
    const byte = at >= 148 && at < 156 ? 32 : (block[at] ?? 0);
    unsigned += byte;
    signed += byte < 128 ? byte : byte - 256;
  }
  if (unsigned === 256 && block.subarray(148, 156).every((byte) => byte === 0)) return undefined;
  const checksum = parseNumber(block, 148, 8);
  if (checksum !== unsigned && checksum !== signed) throw corrupt("A layer is not a valid tar archive.");
  const isPosix = block.toString("latin1", 257, 263) === "ustar\0";
  const prefix = isPosix ? parseText(block, 345, 155) : "";
  const name = parseText(block, 0, 100);
  return {
    type: block[156] === 0 ? "" : String.fromCharCode(block[156] ?? 0),
    name: prefix === "" ? name : `${prefix}/${name}`,
    linkName: parseText(block, 157, 100),
    mode: parseNumber(block, 100, 8),
    uid: parseNumber(block, 108, 8),
    gid: parseNumber(block, 116, 8),
    size: parseNumber(block, 124, 12),
    mtime: parseNumber(block, 136, 12),
  };
}

function parseText(block: Buffer, at: number, length: number): string {
  return untilNul(block.toString("latin1", at, at + length));
}

export function untilNul(text: string): string {
  const nul = text.indexOf("\0");
  return nul < 0 ? text : text.slice(0, nul);
}

/** Parses octal digits, or a binary number if the first bit is set. Negative numbers become -1. */
function parseNumber(block: Buffer, at: number, length: number): number {
  const first = block[at] ?? 0;
  if (first === 0xff) return -1;
  if (first & 0x80) {
    let value = BigInt(first & 0x7f);
    for (let next = at + 1; next < at + length; next++) value = value * 256n + BigInt(block[next] ?? 0);
    return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : Number.POSITIVE_INFINITY;
  }
  const text = untilNul(block.toString("latin1", at, at + length).replace(/^[ \0]+/, "")).trim();
  if (!/^[0-7]*$/.test(text)) throw corrupt("A layer has a tar header with an invalid number.");
  return text === "" ? 0 : Number.parseInt(text, 8);
}

/** Parses the records of an extended header (`LENGTH KEY=VALUE\n`). */
export function parseRecords(data: Buffer): Map<string, Buffer> {
  const records = new Map<string, Buffer>();
  for (let at = 0; at < data.length; ) {
    const space = data.indexOf(0x20, at);
    const digits = space < 0 || space - at > 10 ? "" : data.toString("latin1", at, space);
    const end = at + (/^[1-9]\d*$/.test(digits) ? Number(digits) : 0);
    const equals = data.indexOf(0x3d, space);
    if (end <= space || end > data.length || data[end - 1] !== 0x0a || equals < 0 || equals >= end)
      throw corrupt("A layer has an invalid extended tar header.");
    records.set(data.toString("latin1", space + 1, equals), data.subarray(equals + 1, end - 1));
    at = end;
  }
  return records;
}

export interface TarEntry extends TarHeader {
  xattrs?: Record<string, Buffer>;
  /** The time with its fraction, as in an extended header. */
  preciseMtime?: string | undefined;
}

/** Writes an entry's header, with `idOffset` added to its owners. Long names and attributes are written as entries of their own before it, as GNU tar does. */
export function writeHeader(entry: TarEntry, idOffset = 0): Buffer {
  const { name, linkName, xattrs = {} } = entry;
  const blocks: Buffer[] = [];
  const records = Object.entries(xattrs).map(([key, value]) => writeRecord(`SCHILY.xattr.${key}`, value));
  if (records.length > 0) blocks.push(...dataEntry("x", Buffer.concat(records)));
  if (name.length > 99) blocks.push(...dataEntry("L", Buffer.from(`${name}\0`, "latin1")));
  if (linkName.length > 99) blocks.push(...dataEntry("K", Buffer.from(`${linkName}\0`, "latin1")));
  blocks.push(headerBlock({ ...entry, uid: entry.uid + idOffset, gid: entry.gid + idOffset }));
  return blocks.length === 1 ? (blocks[0] as Buffer) : Buffer.concat(blocks);
}

/** Writes the same header in the form of POSIX, which preserves the fraction of the time. */
export function writePosixHeader(entry: TarEntry): Buffer {
  const { name, linkName, preciseMtime, xattrs = {} } = entry;
  const records: [string, Buffer][] = [
    ...(name.length > 99 ? [["path", Buffer.from(name, "latin1")] as [string, Buffer]] : []),
    ...(linkName.length > 99 ? [["linkpath", Buffer.from(linkName, "latin1")] as [string, Buffer]] : []),
    ...(preciseMtime === undefined ? [] : [["mtime", Buffer.from(preciseMtime)] as [string, Buffer]]),
    ...Object.entries(xattrs).map(([key, value]): [string, Buffer] => [`SCHILY.xattr.${key}`, value]),
  ];
  const extended = Buffer.concat(records.map(([key, value]) => writeRecord(key, value)));
  return Buffer.concat([...(records.length > 0 ? dataEntry("x", extended) : []), headerBlock(entry)]);
}

function dataEntry(type: string, data: Buffer): Buffer[] {
  const header = { type, name: "@", linkName: "", mode: 0, uid: 0, gid: 0, size: data.length, mtime: 0 };
  return [headerBlock(header), data, Buffer.alloc(paddingOf(data.length))];
}

function headerBlock({ type, name, linkName, mode, uid, gid, size, mtime }: TarHeader): Buffer {
  const block = Buffer.alloc(BLOCK);
  block.write(name.slice(0, 99), 0, "latin1");
  block.write(octal(mode, 7), 100, "latin1");
  writeId(block, 108, uid);
  writeId(block, 116, gid);
  if (size < 8 ** 11) block.write(octal(size, 11), 124, "latin1");
  else {
    block[124] = 0x80;
    block.writeBigUInt64BE(BigInt(size), 128);
  }
  block.write(octal(mtime, 11), 136, "latin1");
  block.write("        ", 148, "latin1"); // the checksum is computed with spaces in its own field
  block.write(type, 156, "latin1");
  block.write(linkName.slice(0, 99), 157, "latin1");
  block.write("ustar  \0", 257, "latin1");
  // The only devices that are written are whiteouts, which have the number 0:0.
  block.write(octal(0, 7), 329, "latin1");
  block.write(octal(0, 7), 337, "latin1");
  let checksum = 0;
  for (const byte of block) checksum += byte;
  block.write(`${octal(checksum, 6)}\0 `, 148, "latin1");
  return block;
}

/** Ids of seven octal digits are written as text, higher ones in binary. */
function writeId(block: Buffer, offset: number, id: number): void {
  if (id < 8 ** 7) return void block.write(octal(id, 7), offset, "latin1");
  block[offset] = 0x80;
  block.writeUInt32BE(id, offset + 4);
}

/** The length of a record includes its own digits. */
function writeRecord(key: string, value: Buffer): Buffer {
  const rest = key.length + value.length + 3;
  let length = rest + String(rest).length;
  if (String(length).length !== String(rest).length) length = rest + String(length).length;
  return Buffer.concat([Buffer.from(`${length} ${key}=`, "latin1"), value, Buffer.from("\n")]);
}

export function paddingOf(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0");
}
