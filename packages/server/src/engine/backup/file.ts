import { createHash, type Hash, randomUUID } from "node:crypto";
import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { PassThrough, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdCompress, createZstdDecompress } from "node:zlib";
import { renameDurably } from "../../store/embedded/files.ts";
import { type Entry, readEntries } from "./entries.ts";
import { Manifest } from "./manifest.ts";
import { Unfit } from "./unfit.ts";

/**
 * A line that says what it is, the entries, compressed, the manifest as JSON, its length, and the SHA-256 of all that stands
 * before. So a file that was cut or changed anywhere is told from a whole one before any of it is used.
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
  /** Asked for once all entries are written. */
  manifest(): Manifest;
  signal?: AbortSignal | undefined;
}

/** Under its name only once it is whole and on the disk. */
export async function writeBackupFile({ path, entries, manifest, signal }: WriteOptions): Promise<void> {
  const draft = `${path}.${randomUUID()}.part`;
  const hash = createHash("sha256");
  try {
    await pipeline(
      async function* () {
        yield first;
        const compressed = new PassThrough();
        const compressing = pipeline(entries, createZstdCompress(), compressed, signal ? { signal } : {});
        // Its failure reaches us through what we read; nobody else may hear of it first.
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
    requireFree(path);
    renameDurably(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}

export function requireFree(path: string): void {
  if (existsSync(path)) throw new Unfit(`${path} is there already: choose another name, or move it away.`);
}

export interface BackupFile {
  manifest: Manifest;
  entries(): AsyncGenerator<Entry>;
}

/** Reads all of it once, and refuses what is not whole. */
export async function openBackupFile(path: string, signal?: AbortSignal): Promise<BackupFile> {
  const damaged = new Unfit(`${path} is cut or damaged: its checksum does not fit. Nothing was restored.`);
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    throw new Unfit(`${path} cannot be read: ${error.code}.`);
  });
  try {
    const { size } = await file.stat();
    const read = async (position: number, length: number) => {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
      return buffer.subarray(0, bytesRead);
    };
    const format = FIRST_LINE.exec((await read(0, 64)).toString("latin1"))?.[1];
    if (format === undefined) throw new Unfit(`${path} is not a backup of Outrider.`);
    if (Number(format) > FORMAT) throw newer(path);
    if (size < first.length + LENGTH + HASH) throw damaged;
    const hash = createHash("sha256");
    const all = createReadStream(path, { end: size - HASH - 1, signal, highWaterMark: 1024 * 1024 });
    for await (const chunk of all) hash.update(chunk);
    if (!hash.digest().equals(await read(size - HASH, HASH))) throw damaged;

    const length = (await read(size - HASH - LENGTH, LENGTH)).readUInt32BE();
    const end = size - HASH - LENGTH - length;
    const manifest = Manifest.safeParse(JSON.parse((await read(end, length)).toString("utf8")));
    if (!manifest.success) throw newer(path);
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

export function newer(path: string): Unfit {
  return new Unfit(
    `${path} was made by a newer version of Outrider: restore it with that version, or a later one.`,
  );
}
