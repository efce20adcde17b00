import type { OutputChunk } from "./workspace.ts";

/** Of a command's output, and of any other text that a tool returns, this many bytes at each end are kept. */
export const KEPT_BYTES = 32 * 1024;
/** Output is written down at most this often, so that a chatty command does not flood the log. */
const EVERY_MS = 100;

export function omission(bytes: number): string {
  return `\n[… ${bytes} bytes left out …]\n`;
}

/** The beginning and the end of a text, by default 32 KiB of each. */
export function ends(text: string, keptBytes = KEPT_BYTES): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= 2 * keptBytes) return text;
  const head = firstBytes(text, keptBytes);
  const tail = lastBytes(text, keptBytes);
  const omitted = bytes.length - Buffer.byteLength(head) - Buffer.byteLength(tail);
  return `${head}${omission(omitted)}${tail}`;
}

const isInsideCharacter = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;

function firstBytes(text: string, count: number): string {
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

/** Writes down a running command's output: the beginning as it comes, in batches, and at the end the rest of it. */
export class CommandOutput {
  private readonly write: (chunk: OutputChunk) => Promise<void>;
  private batch: OutputChunk[] = [];
  private tail: OutputChunk[] = [];
  private headLeft = KEPT_BYTES;
  private tailBytes = 0;
  private omitted = 0;
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();

  constructor(write: (chunk: OutputChunk) => Promise<void>) {
    this.write = write;
  }

  push({ stream, text }: OutputChunk) {
    const head = this.headLeft > 0 ? firstBytes(text, this.headLeft) : "";
    const rest = text.slice(head.length);
    if (head !== "") {
      this.headLeft -= Buffer.byteLength(head);
      this.batch.push({ stream, text: head });
      this.timer ??= setTimeout(() => this.flush(), EVERY_MS);
    }
    if (rest === "") return;
    // The head has ended, even where a character of several bytes left some of it over.
    this.headLeft = 0;
    this.tail.push({ stream, text: rest });
    this.tailBytes += Buffer.byteLength(rest);
    // Seldom, so that a million small chunks are not as many moves of the whole tail.
    if (this.tailBytes > 2 * KEPT_BYTES) this.shorten();
  }

  /** Writes what is left and answers how many bytes were left out in between. */
  async end(): Promise<number> {
    this.flush();
    this.shorten();
    if (this.omitted > 0 && this.tail[0]) this.tail[0].text = omission(this.omitted) + this.tail[0].text;
    this.batch = this.tail;
    this.flush();
    await this.writing;
    return this.omitted;
  }

  /** Cuts the tail to what is kept of it. */
  private shorten() {
    let whole = 0;
    for (const chunk of this.tail) {
      const excess = this.tailBytes - KEPT_BYTES;
      if (excess <= 0) break;
      const bytes = Buffer.byteLength(chunk.text);
      chunk.text = lastBytes(chunk.text, Math.max(0, bytes - excess));
      const dropped = bytes - Buffer.byteLength(chunk.text);
      this.tailBytes -= dropped;
      this.omitted += dropped;
      if (chunk.text === "") whole += 1;
    }
    this.tail.splice(0, whole);
  }

  private flush() {
    clearTimeout(this.timer);
    this.timer = undefined;
    const chunks = merged(this.batch);
    this.batch = [];
    for (const chunk of chunks) this.writing = this.writing.then(() => this.write(chunk));
    // Whoever waits for the end learns of a failure; until then it must not count as unhandled.
    this.writing.catch(() => {});
  }
}

/** What came since somebody last asked: its first and last 32 KiB. */
export class RecentOutput {
  private head = "";
  private tail = "";
  private omitted = 0;

  push(text: string) {
    const room = KEPT_BYTES - Buffer.byteLength(this.head);
    const head = this.tail === "" && room > 0 ? firstBytes(text, room) : "";
    this.head += head;
    this.tail += text.slice(head.length);
    if (this.tail.length > 4 * KEPT_BYTES) this.shorten();
  }

  take(): string {
    this.shorten();
    const text = this.head + (this.omitted > 0 ? omission(this.omitted) : "") + this.tail;
    this.head = "";
    this.tail = "";
    this.omitted = 0;
    return text;
  }

  private shorten() {
    const bytes = Buffer.byteLength(this.tail);
    if (bytes <= KEPT_BYTES) return;
    this.tail = lastBytes(this.tail, KEPT_BYTES);
    this.omitted += bytes - Buffer.byteLength(this.tail);
  }
}

/** One chunk for each stream: two programs that take turns would make an event of every word. */
function merged(chunks: OutputChunk[]): OutputChunk[] {
  const texts = new Map<OutputChunk["stream"], string>();
  for (const { stream, text } of chunks) texts.set(stream, (texts.get(stream) ?? "") + text);
  return [...texts].map(([stream, text]) => ({ stream, text }));
}
