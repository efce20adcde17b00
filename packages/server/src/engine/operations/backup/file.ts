import { createHash, type Hash, randomUUID } from "node:crypto";
import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { PassThrough, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdCompress, createZstdDecompress } from "node:zlib";
import { renameDurably } from "../../../postgres/files.ts";
import { BackupError } from "./backup-error.ts";
import { type Entry, readEntries } from "./entries.ts";
import { Manifest } from "./manifest.ts";

/*
 * A backup file consists of a first line with the format version, the entries (compressed with zstd), the manifest as
 * JSON, the manifest's length, and a SHA-256 of everything before it. The checksum is verified before any content is
 * used, so truncation and modification are always detected.
 */

const FORMAT = 1;
const FIRST_LINE = /^outrider-backup (\d+)\n/;
const first = Buffer.from(`outrider-backup ${FORMAT}\n`);
const LENGTH = 4;
const HASH = 32;

function hashing(hash: Hash): Transform {
  return new Transform({
    transform(chunk, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
}

interface WriteOptions {
  path: string;
  entries: AsyncIterable<Buffer>;
  /** Called after all entries have been written. */
  manifest(): Manifest;
  signal?: AbortSignal | undefined;
}

/** Writes to a temporary file and renames it after its complete content is on disk. */
export async function writeBackupFile({ path, entries, manifest, signal }: WriteOptions): Promise<void> {
  const draft = `${path}.${randomUUID()}.part`;
  const hash = createHash("sha256");
  try {
    await pipeline(
      async function* () {
        yield first;
        const compressed = new PassThrough();
        const compressing = pipeline(entries, createZstdCompress(), compressed, signal ? { signal } : {});
        // Reading `compressed` also reports failures; this handler only prevents an unhandled rejection before then.
        compressing.catch(() => {});
        yield* compressed;
        await compressing;
        const json = Buffer.from(JSON.stringify(manifest()));
        const length = Buffer.alloc(LENGTH);
        length.writeUInt32BE(json.length);
        yield Buffer.concat([json, length]);
      },
      hashing(hash),
      createWriteStream(draft, { mode: 0o600, flags: "wx" }),
      signal ? { signal } : {},
    );
    const file = await open(draft, "a");
    try {
      await file.write(hash.digest());
      await file.sync();
    } finally {
      await file.close();
    }
    requireNewFile(path);
    renameDurably(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}

export function requireNewFile(path: string): void {
  if (existsSync(path))
    throw new BackupError(`${path} already exists. Choose another name, or move the existing file.`);
}

export interface BackupFile {
  manifest: Manifest;
  entries(): AsyncGenerator<Entry>;
}

/** Opens a backup after verifying the checksum of the whole file. */
export async function openBackupFile(path: string, signal?: AbortSignal): Promise<BackupFile> {
  const damaged = new BackupError(
    `${path} is truncated or damaged: its checksum does not match. Nothing was restored.`,
  );
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    throw new BackupError(`${path} cannot be read: ${error.code}.`);
  });
  try {
    const { size } = await file.stat();
    const read = async (position: number, length: number) => {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
      return buffer.subarray(0, bytesRead);
    };
    const format = FIRST_LINE.exec((await read(0, 64)).toString("latin1"))?.[1];
    if (format === undefined) throw new BackupError(`${path} is not an Outrider backup.`);
    if (Number(format) > FORMAT) throw newerVersion(path);
    if (size < first.length + LENGTH + HASH) throw damaged;
    const hash = createHash("sha256");
    const all = createReadStream(path, { end: size - HASH - 1, signal, highWaterMark: 1024 * 1024 });
    for await (const chunk of all) hash.update(chunk);
    if (!hash.digest().equals(await read(size - HASH, HASH))) throw damaged;

    const length = (await read(size - HASH - LENGTH, LENGTH)).readUInt32BE();
    const end = size - HASH - LENGTH - length;
    const manifest = Manifest.safeParse(JSON.parse((await read(end, length)).toString("utf8")));
    if (!manifest.success) throw newerVersion(path);
    return { manifest: manifest.data, entries: () => readBody(path, end, signal) };
  } finally {
    await file.close();
  }
}

async function* readBody(path: string, end: number, signal?: AbortSignal): AsyncGenerator<Entry> {
  const body = createReadStream(path, { start: first.length, end: end - 1, signal });
  const plain = new PassThrough();
  const decompressing = pipeline(body, createZstdDecompress(), plain);
  decompressing.catch(() => {});
  yield* readEntries(plain);
  await decompressing;
}

export function newerVersion(path: string): BackupError {
  return new BackupError(
    `${path} was created by a newer version of Outrider. Restore it with that version or a later one.`,
  );
}
