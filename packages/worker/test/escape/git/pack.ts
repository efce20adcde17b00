import { createHash } from "node:crypto";
import { constants, deflateRawSync, deflateSync } from "node:zlib";

/** Writes git packs, including invalid ones that git itself would not write. */

const types = { commit: 1, tree: 2, blob: 3, tag: 4, reserved: 5, refDelta: 7 } as const;

export interface PackEntry {
  type: keyof typeof types;
  /** The size that the header claims. Default: the real size. */
  size?: number;
  data: Buffer;
  /** The zlib stream. Default: the compressed data. */
  stream?: Buffer;
  /** The id of a delta's base. */
  base?: string;
}

export function writePack(entries: PackEntry[], options: { count?: number; checksum?: Buffer } = {}): Buffer {
  const header = Buffer.from("PACK\0\0\0\x02\0\0\0\0", "latin1");
  header.writeUInt32BE(options.count ?? entries.length, 8);
  const body = Buffer.concat([header, ...entries.map(writeEntry)]);
  return Buffer.concat([body, options.checksum ?? createHash("sha1").update(body).digest()]);
}

function writeEntry({
  type,
  data,
  size = data.length,
  stream = deflateSync(data),
  base = "",
}: PackEntry): Buffer {
  const bytes = [(types[type] << 4) | (size & 15)];
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1] = (bytes.at(-1) as number) | 128;
    bytes.push(rest % 128);
  }
  return Buffer.concat([Buffer.from(bytes), Buffer.from(base, "hex"), stream]);
}

export function objectId(type: string, data: Buffer): string {
  return createHash("sha1").update(`${type} ${data.length}\0`).update(data).digest("hex");
}

export function commitOf(tree: string): Buffer {
  const author = "test <test@example.com> 1700000000 +0000";
  return Buffer.from(`tree ${tree}\nauthor ${author}\ncommitter ${author}\n\nattack\n`);
}

/** Serializes a tree without any of git's checks. */
export function treeOf(entries: [mode: string, name: string, id: string][]): Buffer {
  return Buffer.concat(
    entries.flatMap(([mode, name, id]) => [Buffer.from(`${mode} ${name}\0`), Buffer.from(id, "hex")]),
  );
}

const chunkBytes = 4 * 2 ** 20;

/** Returns a zlib stream of zeros. It takes about a thousandth of the size. */
export function zeros(size: number): Buffer {
  const options = { level: 9, finishFlush: constants.Z_FULL_FLUSH };
  const chunk = deflateRawSync(Buffer.alloc(chunkBytes), options);
  const chunks = Array.from({ length: Math.floor(size / chunkBytes) }, () => chunk);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt16BE(size % 65521, 0);
  checksum.writeUInt16BE(1, 2);
  return Buffer.concat([
    Buffer.from([0x78, 0x01]),
    ...chunks,
    deflateRawSync(Buffer.alloc(size % chunkBytes)),
    checksum,
  ]);
}

/** Returns a delta whose every byte copies the first 64 KiB of the base. The caller may append literals. */
export function copyDelta(baseSize: number, copies: number, literalBytes = 0): Buffer {
  const size = (value: number) => {
    const bytes: number[] = [];
    for (let rest = value; ; rest = Math.floor(rest / 128)) {
      if (rest < 128) return Buffer.from([...bytes, rest]);
      bytes.push((rest % 128) | 128);
    }
  };
  return Buffer.concat([size(baseSize), size(copies * 2 ** 16 + literalBytes), Buffer.alloc(copies, 0x80)]);
}
