import { readFileSync } from "node:fs";
import { inflateRawSync } from "node:zlib";

const endSignature = 0x06054b50;
const entrySignature = 0x02014b50;
const maxEntryBytes = 2 ** 20;

/** Returns one file of a zip archive that is installed on this machine, such as a jar. */
export function readZipEntry(file: string, name: string): Buffer | undefined {
  const zip = readFileSync(file);
  let end = zip.length - 22;
  while (end >= 0 && zip.readUInt32LE(end) !== endSignature) end--;
  if (end < 0) return undefined;
  const count = zip.readUInt16LE(end + 10);
  let at = zip.readUInt32LE(end + 16);
  for (let index = 0; index < count && zip.readUInt32LE(at) === entrySignature; index++) {
    const method = zip.readUInt16LE(at + 10);
    const size = zip.readUInt32LE(at + 20);
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((offset) =>
      zip.readUInt16LE(at + offset),
    );
    const start = zip.readUInt32LE(at + 42);
    const nameEnd = at + 46 + (nameLength ?? 0);
    if (zip.toString("utf8", at + 46, nameEnd) === name) {
      // The local header repeats the name, with extra fields of another length.
      const data = start + 30 + zip.readUInt16LE(start + 26) + zip.readUInt16LE(start + 28);
      const content = zip.subarray(data, data + size);
      return method === 0 ? content : inflateRawSync(content, { maxOutputLength: maxEntryBytes });
    }
    at = nameEnd + (extraLength ?? 0) + (commentLength ?? 0);
  }
  return undefined;
}
