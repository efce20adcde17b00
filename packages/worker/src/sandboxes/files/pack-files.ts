/** Tar archives of files and folders of this machine. */
import { createReadStream, lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { paddingOf, writeHeader } from "../../images/tar-header.ts";

export interface ArchiveEntry {
  /** Relative to the folder in which the archive is unpacked. */
  path: string;
  mode: number;
  /** Default: root. */
  uid?: number;
  gid?: number;
  /** Seconds since the Unix epoch. Default: 0. */
  modifiedAt?: number;
  content:
    | { type: "folder" }
    | { type: "link"; target: string }
    /** `inode` identifies files that are stored once and linked. */
    | { type: "file"; source: string; size: number; inode?: string | undefined }
    | { type: "data"; data: Buffer };
}

const END = Buffer.alloc(1024);
/** Asynchronous calls and writes to the connection take longer than reading so little. */
const SMALL_FILE = 2 ** 16;
const CHUNK_BYTES = 2 ** 18;
const typeFlags = { folder: "5", link: "2", file: "0", data: "0" } as const;

/** Packs the entries. Folders must precede what they contain. */
export async function* packEntries(entries: Iterable<ArchiveEntry>): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of packParts(entries)) {
    parts.push(part);
    bytes += part.length;
    if (bytes < CHUNK_BYTES) continue;
    yield Buffer.concat(parts);
    parts = [];
    bytes = 0;
  }
  yield Buffer.concat(parts);
}

async function* packParts(entries: Iterable<ArchiveEntry>): AsyncGenerator<Buffer> {
  const inodes = new Map<string, string>();
  for (const entry of entries) {
    const { content } = entry;
    const inode = content.type === "file" ? content.inode : undefined;
    const first = inode === undefined ? undefined : inodes.get(inode);
    if (first !== undefined) {
      yield headerOf(entry, { type: "1", linkName: first });
      continue;
    }
    if (inode !== undefined) inodes.set(inode, entry.path);
    yield headerOf(entry, { type: typeFlags[content.type] });
    if (content.type === "data") yield content.data;
    if (content.type === "file") yield* readFileOf(content);
    yield Buffer.alloc(paddingOf(sizeOf(content)));
  }
  yield END;
}

function headerOf(
  { path, mode, uid = 0, gid = 0, modifiedAt: mtime = 0, content }: ArchiveEntry,
  { type, linkName }: { type: string; linkName?: string },
): Buffer {
  const target = linkName ?? (content.type === "link" ? content.target : "");
  return writeHeader({
    ...{ type, mode: mode & 0o7777, uid, gid, mtime, size: type === "0" ? sizeOf(content) : 0 },
    name: toLatin1(content.type === "folder" ? `${path}/` : path),
    linkName: toLatin1(target),
  });
}

/** The headers take one character per byte. */
const toLatin1 = (text: string) => Buffer.from(text).toString("latin1");

function sizeOf(content: ArchiveEntry["content"]): number {
  if (content.type === "data") return content.data.length;
  return content.type === "file" ? content.size : 0;
}

/** The file may grow or shrink meanwhile, but the header already contains its size. */
async function* readFileOf({ source, size }: { source: string; size: number }): AsyncGenerator<Buffer> {
  if (size === 0) return;
  if (size <= SMALL_FILE) {
    const data = readFileSync(source);
    if (data.length < size) throw new Error(`${source} became shorter while it was read.`);
    return yield data.subarray(0, size);
  }
  let read = 0;
  for await (const chunk of createReadStream(source, { end: size - 1, highWaterMark: 2 ** 18 })) {
    read += chunk.length;
    yield chunk;
  }
  if (read !== size) throw new Error(`${source} became shorter while it was read.`);
}

/** Lists a folder recursively, in the order of names, as entries that belong to root. */
export function* listFolder(folder: string, path = ""): Generator<ArchiveEntry> {
  for (const name of readdirSync(folder).sort()) {
    const entry = describeFile(join(folder, name), path === "" ? name : `${path}/${name}`);
    if (!entry) continue;
    yield entry;
    if (entry.content.type === "folder") yield* listFolder(join(folder, name), entry.path);
  }
}

/** Returns undefined if the file is missing, and for sockets, pipes and devices. */
export function describeFile(source: string, path: string): ArchiveEntry | undefined {
  const stat = lstatSync(source, { throwIfNoEntry: false });
  if (!stat) return undefined;
  const { mode, size } = stat;
  const modifiedAt = Math.floor(stat.mtimeMs / 1_000);
  if (stat.isDirectory()) return { path, mode, modifiedAt, content: { type: "folder" } };
  if (stat.isSymbolicLink())
    return { path, mode: 0o777, modifiedAt, content: { type: "link", target: readlinkSync(source) } };
  if (!stat.isFile()) return undefined;
  const inode = stat.nlink > 1 ? `${stat.dev}:${stat.ino}` : undefined;
  return { path, mode, modifiedAt, content: { type: "file", source, size, inode } };
}
