import { BackupError } from "./backup-error.ts";

/** Identifies an entry's content: a table's rows as text, or the file with this SHA-256. */
export type Heading = { table: string; columns: string[] } | { file: string };

export interface Entry {
  heading: Heading;
  /** Must be read completely, or not at all, before the next entry is requested. */
  content: AsyncIterable<Buffer>;
}

const CHUNK_BYTES = 256 * 1024;
const MAX_CHUNK_BYTES = 4 * 1024 * 1024;

/** Encodes an entry as length-prefixed chunks: the heading, the content, and an empty chunk that marks the end. */
export async function* writeEntry(heading: Heading, content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* writeChunk(Buffer.from(JSON.stringify(heading)));
  let buffered: Buffer[] = [];
  let size = 0;
  for await (const chunk of content) {
    buffered.push(chunk);
    size += chunk.length;
    if (size < CHUNK_BYTES) continue;
    yield* writeChunks(Buffer.concat(buffered, size));
    buffered = [];
    size = 0;
  }
  yield* writeChunks(Buffer.concat(buffered, size));
  yield encodeLength(0);
}

/** Splits content into chunks, because a single row can be too large for a reader to buffer. */
function* writeChunks(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += MAX_CHUNK_BYTES)
    yield* writeChunk(bytes.subarray(start, start + MAX_CHUNK_BYTES));
}

function* writeChunk(bytes: Buffer): Generator<Buffer> {
  yield encodeLength(bytes.length);
  yield bytes;
}

function encodeLength(length: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(length);
  return bytes;
}

export async function* readEntries(source: AsyncIterable<Buffer>): AsyncGenerator<Entry> {
  const reader = new ChunkReader(source);
  for (let heading = await reader.next(); heading; heading = await reader.next()) {
    let isRead = false;
    const content = (async function* () {
      for (let next = await reader.require(); next.length > 0; next = await reader.require()) yield next;
      isRead = true;
    })();
    yield { heading: JSON.parse(heading.toString("utf8")) as Heading, content };
    while (!isRead) if ((await content.next()).done) break;
  }
}

class ChunkReader {
  readonly #source: AsyncIterator<Buffer>;
  #buffered: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Returns the next chunk, or undefined at the end of the stream. */
  async next(): Promise<Buffer | undefined> {
    if (!(await this.#fill(4))) {
      if (this.#buffered.length === 0) return undefined;
      throw truncated();
    }
    const length = this.#buffered.readUInt32BE();
    if (length > MAX_CHUNK_BYTES || !(await this.#fill(4 + length))) throw truncated();
    const bytes = this.#buffered.subarray(4, 4 + length);
    this.#buffered = this.#buffered.subarray(4 + length);
    return bytes;
  }

  async require(): Promise<Buffer> {
    const bytes = await this.next();
    if (!bytes) throw truncated();
    return bytes;
  }

  async #fill(size: number): Promise<boolean> {
    const chunks = [this.#buffered];
    let length = this.#buffered.length;
    while (length < size) {
      const { value, done } = await this.#source.next();
      if (done) break;
      chunks.push(value);
      length += value.length;
    }
    if (chunks.length > 1) this.#buffered = Buffer.concat(chunks, length);
    return length >= size;
  }
}

function truncated(): BackupError {
  return new BackupError("The backup is truncated.");
}
