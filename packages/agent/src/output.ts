import type { OutputChunk } from "./workspace.ts";

/** Truncated tool output retains this many bytes at the beginning and the same number at the end. */
export const KEPT_BYTES = 32 * 1024;
/** Output events are emitted at this interval so that a verbose command does not flood the log. */
const FLUSH_INTERVAL_MS = 100;

export function omissionMarker(bytes: number): string {
  return `\n[… ${bytes} bytes omitted …]\n`;
}

/** Removes the middle of a long text. The beginning and the end remain, by default 32 KiB each. */
export function truncateMiddle(text: string, keptBytes = KEPT_BYTES): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= 2 * keptBytes) return text;
  const head = firstBytes(text, keptBytes);
  const tail = lastBytes(text, keptBytes);
  const omitted = bytes.length - Buffer.byteLength(head) - Buffer.byteLength(tail);
  return `${head}${omissionMarker(omitted)}${tail}`;
}

const isInsideCharacter = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;

/** Returns at most `count` bytes of the text without splitting a character. */
export function firstBytes(text: string, count: number): string {
  const bytes = Buffer.from(text);
  let end = Math.min(count, bytes.length);
  while (end > 0 && isInsideCharacter(bytes[end])) end -= 1;
  return bytes.toString("utf8", 0, end);
}

function lastBytes(text: string, count: number): string {
  const bytes = Buffer.from(text);
  let start = Math.max(0, bytes.length - count);
  while (isInsideCharacter(bytes[start])) start += 1;
  return bytes.toString("utf8", start);
}

/** Emits a running command's output: the first 32 KiB live, in batches, and the last 32 KiB when the command ends. */
export class CommandOutput {
  readonly #write: (chunk: OutputChunk) => Promise<void>;
  #batch: OutputChunk[] = [];
  #tail: OutputChunk[] = [];
  #headLeft = KEPT_BYTES;
  #tailBytes = 0;
  #omitted = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(write: (chunk: OutputChunk) => Promise<void>) {
    this.#write = write;
  }

  push({ stream, text }: OutputChunk) {
    const head = this.#headLeft > 0 ? firstBytes(text, this.#headLeft) : "";
    const rest = text.slice(head.length);
    if (head !== "") {
      this.#headLeft -= Buffer.byteLength(head);
      this.#batch.push({ stream, text: head });
      this.#timer ??= setTimeout(() => this.#flush(), FLUSH_INTERVAL_MS);
    }
    if (rest === "") return;
    // The head is full, even if a multi-byte character did not fit and left some bytes unused.
    this.#headLeft = 0;
    this.#tail.push({ stream, text: rest });
    this.#tailBytes += Buffer.byteLength(rest);
    // Trimming only at twice the size keeps the cost of many small chunks low.
    if (this.#tailBytes > 2 * KEPT_BYTES) this.#trimTail();
  }

  /** Emits the remaining output and returns the number of omitted bytes. */
  async end(): Promise<number> {
    this.#flush();
    this.#trimTail();
    if (this.#omitted > 0 && this.#tail[0])
      this.#tail[0].text = omissionMarker(this.#omitted) + this.#tail[0].text;
    this.#batch = this.#tail;
    this.#flush();
    await this.#writing;
    return this.#omitted;
  }

  #trimTail() {
    let emptyChunks = 0;
    for (const chunk of this.#tail) {
      const excess = this.#tailBytes - KEPT_BYTES;
      if (excess <= 0) break;
      const bytes = Buffer.byteLength(chunk.text);
      chunk.text = lastBytes(chunk.text, Math.max(0, bytes - excess));
      const dropped = bytes - Buffer.byteLength(chunk.text);
      this.#tailBytes -= dropped;
      this.#omitted += dropped;
      if (chunk.text === "") emptyChunks += 1;
    }
    this.#tail.splice(0, emptyChunks);
  }

  #flush() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const chunks = mergeNeighbors(this.#batch);
    this.#batch = [];
    for (const chunk of chunks) this.#writing = this.#writing.then(() => this.#write(chunk));
    // `end` reports the failure. Until then, this handler prevents an unhandled rejection.
    this.#writing.catch(() => {});
  }
}

/** Collects the output between two reads and retains its first and last 32 KiB. */
export class RecentOutput {
  #head = "";
  #tail = "";
  #omitted = 0;

  push(text: string) {
    const headLeft = KEPT_BYTES - Buffer.byteLength(this.#head);
    const head = this.#tail === "" && headLeft > 0 ? firstBytes(text, headLeft) : "";
    this.#head += head;
    this.#tail += text.slice(head.length);
    if (this.#tail.length > 4 * KEPT_BYTES) this.#trimTail();
  }

  /** Returns the output collected since the last call and clears it. */
  take(): string {
    this.#trimTail();
    const text = this.#head + (this.#omitted > 0 ? omissionMarker(this.#omitted) : "") + this.#tail;
    this.#head = "";
    this.#tail = "";
    this.#omitted = 0;
    return text;
  }

  #trimTail() {
    const bytes = Buffer.byteLength(this.#tail);
    if (bytes <= KEPT_BYTES) return;
    this.#tail = lastBytes(this.#tail, KEPT_BYTES);
    this.#omitted += bytes - Buffer.byteLength(this.#tail);
  }
}

/** Merges successive chunks of the same stream, so that the order of the output is kept. */
function mergeNeighbors(chunks: OutputChunk[]): OutputChunk[] {
  const merged: OutputChunk[] = [];
  for (const { stream, text } of chunks) {
    const last = merged.at(-1);
    if (last?.stream === stream) last.text += text;
    else merged.push({ stream, text });
  }
  return merged;
}
