/**
 * Makes programs for Linux independent of the system in whose files they run. A dynamically linked program names the
 * dynamic loader that starts it, such as /lib64/ld-linux-x86-64.so.2, which images without glibc lack, and the loader
 * searches for libraries in folders of the image. The edited program names another loader and the folder of its libraries.
 *
 * The program keeps its size and layout, because some programs append data to their file: the path of the loader replaces
 * the old one, the folder replaces the content of a note that nothing reads at run time, and the entry for the folder
 * (DT_RPATH) replaces the one for debuggers. DT_RPATH also applies to the libraries of libraries, and takes precedence over
 * LD_LIBRARY_PATH.
 */
import { type FileHandle, open } from "node:fs/promises";

const HEADER_BYTES = 64;
const PROGRAM_HEADER_BYTES = 56;
const MAX_PROGRAM_HEADERS = 256;
const MAX_SEGMENT_BYTES = 64 * 1024;
const segmentTypes = { load: 1, dynamic: 2, interpreter: 3, note: 4 } as const;
const dynamicTags = { end: 0n, stringTable: 5n, rpath: 15n, debug: 21n, runpath: 29n } as const;
const noteTypes = { abiTag: 1, buildId: 3 } as const;

interface Segment {
  type: number;
  offset: number;
  address: bigint;
  size: number;
}

export interface LoaderPaths {
  /** The path of the dynamic loader. */
  loader: string;
  /** The folder of the libraries. */
  libraries: string;
}

/** Returns the path of the loader that a program names. Returns undefined for other files and for static programs. */
export async function readLoader(path: string): Promise<string | undefined> {
  await using file = await open(path, "r");
  return (await readProgram(file))?.loader;
}

/** Edits a program. Returns false and changes nothing if the file is not a dynamic program or has no space. */
export async function setLoader(path: string, { loader, libraries }: LoaderPaths): Promise<boolean> {
  await using file = await open(path, "r+");
  const program = await readProgram(file);
  if (!program) return false;
  const { segments, interpreter } = program;
  const entry = await findRpathEntry(file, segments);
  const note = await findNote(file, segments, libraries.length + 1);
  if (interpreter.size <= loader.length || !entry || !note) return false;
  const loaderBytes = Buffer.alloc(interpreter.size);
  loaderBytes.write(loader);
  await file.write(loaderBytes, 0, loaderBytes.length, interpreter.offset);
  // The note now has no name, and its content has all of the space.
  const noteBytes = Buffer.alloc(note.size);
  noteBytes.writeUInt32LE(0, 0);
  noteBytes.writeUInt32LE(note.size - 12, 4);
  noteBytes.write(libraries, 12);
  await file.write(noteBytes, 0, noteBytes.length, note.offset);
  const entryBytes = Buffer.alloc(16);
  entryBytes.writeBigUInt64LE(dynamicTags.rpath, 0);
  // The loader adds this to the address of the string table. The note is before the table, so the sum wraps around.
  entryBytes.writeBigUInt64LE(BigInt.asUintN(64, note.address + 12n - entry.stringTable), 8);
  await file.write(entryBytes, 0, entryBytes.length, entry.offset);
  return true;
}

async function readProgram(file: FileHandle) {
  const header = await readBytes(file, 0, HEADER_BYTES);
  // 64-bit, little-endian
  if (header?.subarray(0, 6).toString("latin1") !== "\x7fELF\x02\x01") return undefined;
  const start = Number(header.readBigUInt64LE(32));
  const entryBytes = header.readUInt16LE(54);
  const count = header.readUInt16LE(56);
  if (entryBytes !== PROGRAM_HEADER_BYTES || count > MAX_PROGRAM_HEADERS) return undefined;
  const table = await readBytes(file, start, count * PROGRAM_HEADER_BYTES);
  if (!table) return undefined;
  const segments = Array.from({ length: count }, (_, index): Segment => {
    const at = index * PROGRAM_HEADER_BYTES;
    return {
      type: table.readUInt32LE(at),
      offset: Number(table.readBigUInt64LE(at + 8)),
      address: table.readBigUInt64LE(at + 16),
      size: Number(table.readBigUInt64LE(at + 32)),
    };
  });
  const interpreter = segments.find(({ type }) => type === segmentTypes.interpreter);
  const name = interpreter && (await readSegment(file, interpreter));
  if (!interpreter || !name) return undefined;
  return { segments, interpreter, loader: name.toString("latin1").replace(/\0.*$/s, "") };
}

/** Returns the entry of the dynamic section to replace, and the address of the strings that it refers to. */
async function findRpathEntry(file: FileHandle, segments: Segment[]) {
  const dynamic = segments.find(({ type }) => type === segmentTypes.dynamic);
  const bytes = dynamic && (await readSegment(file, dynamic));
  if (!bytes) return undefined;
  const offsets = new Map<bigint, number>();
  let stringTable: bigint | undefined;
  for (let at = 0; at + 16 <= bytes.length; at += 16) {
    const tag = bytes.readBigUInt64LE(at);
    if (tag === dynamicTags.end) break;
    if (tag === dynamicTags.stringTable) stringTable = bytes.readBigUInt64LE(at + 8);
    if (!offsets.has(tag)) offsets.set(tag, dynamic.offset + at);
  }
  // DT_RUNPATH would disable DT_RPATH, so it must be the entry that is replaced.
  const { runpath, rpath, debug } = dynamicTags;
  const offset = offsets.get(runpath) ?? offsets.get(rpath) ?? offsets.get(debug);
  return offset === undefined || stringTable === undefined ? undefined : { offset, stringTable };
}

/** Finds a note about the build, with space for so many bytes apart from the header of 12 bytes. */
async function findNote(file: FileHandle, segments: Segment[], bytesNeeded: number) {
  for (const segment of segments.filter(({ type }) => type === segmentTypes.note)) {
    const bytes = await readSegment(file, segment);
    for (let at = 0; bytes && at + 16 <= bytes.length; ) {
      const nameBytes = bytes.readUInt32LE(at);
      const size = 12 + align(nameBytes) + align(bytes.readUInt32LE(at + 4));
      const type = bytes.readUInt32LE(at + 8);
      const isGnu = bytes.toString("latin1", at + 12, at + 12 + nameBytes) === "GNU\0";
      const isUnused = isGnu && (type === noteTypes.abiTag || type === noteTypes.buildId);
      if (isUnused && size - 12 >= bytesNeeded && at + size <= bytes.length)
        return { offset: segment.offset + at, address: segment.address + BigInt(at), size };
      at += size;
    }
  }
  return undefined;
}

const align = (size: number) => Math.ceil(size / 4) * 4;

async function readSegment(file: FileHandle, { offset, size }: Segment): Promise<Buffer | undefined> {
  return size > MAX_SEGMENT_BYTES ? undefined : await readBytes(file, offset, size);
}

async function readBytes(file: FileHandle, offset: number, size: number): Promise<Buffer | undefined> {
  if (!Number.isSafeInteger(offset)) return undefined;
  const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, offset);
  return bytesRead === size ? buffer : undefined;
}
