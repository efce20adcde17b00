/** Finds the libraries of a program by its ELF headers. Executing it, as ldd does, takes long for hundreds of programs. */
import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { dirname, join } from "node:path";

/** Where the dynamic loaders of Linux distributions look, from the more specific to the less. */
const libraryFolders = [
  ...["/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib/x86_64-linux-gnu"],
  ...["/lib/aarch64-linux-gnu", "/usr/lib64", "/lib64", "/usr/lib", "/lib"],
];
const segmentTypes = { load: 1, dynamic: 2, interpreter: 3 } as const;
const dynamicTags = { needed: 1n, stringTable: 5n, rpath: 15n, runpath: 29n } as const;
const MAX_SEGMENT_BYTES = 2 ** 20;

/** Returns the path of a library of the system. */
export function findLibrary(name: string, moreFolders: string[] = []): string | undefined {
  return [...moreFolders, ...libraryFolders]
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
}

/**
 * Returns the paths of the dynamic loader and the libraries that a program or library names, but not of those that they name
 * in turn. Returns nothing for other files.
 */
export function listNeededLibraries(path: string): string[] {
  const file = openSync(path, "r");
  try {
    return readNeeded(file, dirname(path));
  } finally {
    closeSync(file);
  }
}

interface Segment {
  type: number;
  offset: number;
  address: bigint;
  size: number;
}

function readNeeded(file: number, folder: string): string[] {
  const segments = readSegments(file);
  const interpreter = segments.find(({ type }) => type === segmentTypes.interpreter);
  const dynamic = segments.find(({ type }) => type === segmentTypes.dynamic);
  const loader = interpreter ? [textAt(readBytes(file, interpreter.offset, interpreter.size), 0)] : [];
  if (!dynamic || dynamic.size > MAX_SEGMENT_BYTES) return loader;
  const entries = readDynamic(readBytes(file, dynamic.offset, dynamic.size));
  const table = entries.find(({ tag }) => tag === dynamicTags.stringTable)?.value;
  const segment = segments.find(
    ({ type, address, size }) =>
      type === segmentTypes.load && table !== undefined && table >= address && table < address + BigInt(size),
  );
  if (table === undefined || !segment) return loader;
  const start = Number(table - segment.address);
  const strings = readBytes(file, segment.offset + start, Math.min(segment.size - start, MAX_SEGMENT_BYTES));
  const textsOf = (...tags: bigint[]) =>
    entries.filter(({ tag }) => tags.includes(tag)).map(({ value }) => textAt(strings, Number(value)));
  const folders = textsOf(dynamicTags.rpath, dynamicTags.runpath)
    .flatMap((list) => list.split(":"))
    .map((each) => each.replace(/\$(ORIGIN|\{ORIGIN\})/, folder));
  return [...loader, ...textsOf(dynamicTags.needed).flatMap((name) => findLibrary(name, folders) ?? [])];
}

/** Only programs for 64-bit little-endian machines are known. */
function readSegments(file: number): Segment[] {
  const header = readBytes(file, 0, 64);
  if (header.length < 64 || header.toString("latin1", 0, 6) !== "\x7fELF\x02\x01") return [];
  const [entrySize, count] = [header.readUInt16LE(54), header.readUInt16LE(56)];
  const table = readBytes(file, Number(header.readBigUInt64LE(32)), entrySize * count);
  return Array.from({ length: Math.floor(table.length / Math.max(entrySize, 56)) }, (_, index) => {
    const entry = table.subarray(index * entrySize);
    return {
      type: entry.readUInt32LE(0),
      offset: Number(entry.readBigUInt64LE(8)),
      address: entry.readBigUInt64LE(16),
      size: Number(entry.readBigUInt64LE(32)),
    };
  });
}

function readDynamic(data: Buffer): { tag: bigint; value: bigint }[] {
  return Array.from({ length: Math.floor(data.length / 16) }, (_, index) => ({
    tag: data.readBigUInt64LE(index * 16),
    value: data.readBigUInt64LE(index * 16 + 8),
  }));
}

function readBytes(file: number, offset: number, length: number): Buffer {
  const data = Buffer.alloc(length);
  return data.subarray(0, readSync(file, data, 0, length, offset));
}

function textAt(data: Buffer, offset: number): string {
  const end = data.indexOf(0, offset);
  return data.toString("utf8", offset, end < 0 ? data.length : end);
}
