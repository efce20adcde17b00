import { paddingOf, writeHeader } from "../../images/tar-header.ts";

/** A file or folder to create. */
export interface ArchiveEntry {
  /** Relative to the folder in which the archive is unpacked. Folders end with a slash. */
  name: string;
  content?: Buffer | string;
  mode: number;
  uid?: number;
  gid?: number;
}

/** Returns a tar archive. */
export function createArchive(entries: ArchiveEntry[]): Buffer {
  const parts = entries.flatMap(({ name, content = "", mode, uid = 0, gid = 0 }) => {
    const data = Buffer.from(content);
    const type = name.endsWith("/") ? "5" : "0";
    const header = { type, name, linkName: "", mode, uid, gid, size: data.length, mtime: 0 };
    return [writeHeader(header), data, Buffer.alloc(paddingOf(data.length))];
  });
  return Buffer.concat([...parts, Buffer.alloc(1024)]);
}
