import { Unfit } from "./unfit.ts";

/** A table's rows as text, or a file by its hash. */
export type Heading = { table: string; columns: string[] } | { file: string };

export interface Entry {
  heading: Heading;
  /** Read it whole, or not at all, before the next entry is asked for. */
  content: AsyncIterable<Buffer>;
}

const PIECE = 256 * 1024;
const LARGEST = 4 * 1024 * 1024;

/** Each piece with its length before it; an entry is its heading, its pieces, and one of no length. */
export async function* writeEntry(heading: Heading, content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* piece(Buffer.from(JSON.stringify(heading)));
  let waiting: Buffer[] = [];
  let size = 0;
  for await (const chunk of content) {
    waiting.push(chunk);
    size += chunk.length;
    if (size < PIECE) continue;
    yield* pieces(Buffer.concat(waiting, size));
    waiting = [];
    size = 0;
  }
  yield* pieces(Buffer.concat(waiting, size));
  yield lengthOf(0);
}

/** A row can be larger than a reader wants to hold at once. */
function* pieces(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += LARGEST) yield* piece(bytes.subarray(at, at + LARGEST));
}

function* piece(bytes: Buffer): Generator<Buffer> {
  yield lengthOf(bytes.length);
  yield bytes;
}

function lengthOf(length: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(length);
  return bytes;
}

export async function* readEntries(source: AsyncIterable<Buffer>): AsyncGenerator<Entry> {
  const reader = new Reader(source);
  for (let heading = await reader.piece(); heading; heading = await reader.piece()) {
    let isRead = false;
    const content = (async function* () {
      for (let next = await reader.required(); next.length > 0; next = await reader.required()) yield next;
      isRead = true;
    })();
    yield { heading: JSON.parse(heading.toString("utf8")) as Heading, content };
    while (!isRead) if ((await content.next()).done) break;
  }
}

class Reader {
  private readonly source: AsyncIterator<Buffer>;
  private held: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.source = source[Symbol.asyncIterator]();
  }

  /** Undefined at the end. */
  async piece(): Promise<Buffer | undefined> {
    if (!(await this.fill(4))) {
      if (this.held.length === 0) return undefined;
      throw cut();
    }
    const length = this.held.readUInt32BE();
    if (length > LARGEST || !(await this.fill(4 + length))) throw cut();
    const bytes = this.held.subarray(4, 4 + length);
    this.held = this.held.subarray(4 + length);
    return bytes;
  }

  async required(): Promise<Buffer> {
    const bytes = await this.piece();
    if (!bytes) throw cut();
    return bytes;
  }

  private async fill(size: number): Promise<boolean> {
    const chunks = [this.held];
    let length = this.held.length;
    while (length < size) {
      const { value, done } = await this.source.next();
      if (done) break;
      chunks.push(value);
      length += value.length;
    }
    if (chunks.length > 1) this.held = Buffer.concat(chunks, length);
    return length >= size;
  }
}

function cut(): Unfit {
  return new Unfit("The backup ends in the middle of its content.");
}
