/**
 * The lines of git's protocol: four hex digits with the length, which includes the digits, followed by the content. The
 * length 0 is a flush, which ends a section.
 */
import { Readable } from "node:stream";
import { ProtocolError } from "./protocol-error.ts";

const LENGTH_DIGITS = 4;
/** The longest content that git accepts. */
const MAX_CONTENT_BYTES = 65_516;

export const flushLine = Buffer.from("0000");

export function pktLine(content: string | Buffer): Buffer {
  const data = Buffer.from(content);
  if (data.length > MAX_CONTENT_BYTES) throw new Error("The content is too long for a line.");
  const length = (data.length + LENGTH_DIGITS).toString(16).padStart(LENGTH_DIGITS, "0");
  return Buffer.concat([Buffer.from(length), data]);
}

/** Reads lines from a stream, and then the rest of the stream as it is. The stream may be hostile. */
export class PktLineReader {
  readonly #source: AsyncIterator<Buffer>;
  readonly #maxLineBytes: number;
  #buffer: Buffer = Buffer.alloc(0);
  #hasEnded = false;

  constructor(source: AsyncIterable<Buffer>, { maxLineBytes }: { maxLineBytes: number }) {
    this.#source = source[Symbol.asyncIterator]();
    this.#maxLineBytes = maxLineBytes;
  }

  /** Returns the content of the next line, or undefined for a flush. */
  async readLine(): Promise<Buffer | undefined> {
    const digits = (await this.#take(LENGTH_DIGITS)).toString("latin1");
    if (!/^[0-9a-f]{4}$/i.test(digits)) throw new ProtocolError("The request is not a git push.");
    const length = Number.parseInt(digits, 16);
    if (length === 0) return undefined;
    if (length < LENGTH_DIGITS) throw new ProtocolError("The request has a line that pushes do not have.");
    if (length > this.#maxLineBytes) throw new ProtocolError("The request has a line that is too long.");
    return this.#take(length - LENGTH_DIGITS);
  }

  /** Returns what follows. Destroying it leaves the rest for `drain`. */
  rest(): Readable {
    return Readable.from(this.#chunks(), { objectMode: false });
  }

  /** Reads and discards the rest, up to a limit. Returns whether the stream has ended. */
  async drain(maxBytes: number): Promise<boolean> {
    let bytes = 0;
    while (bytes <= maxBytes) {
      const chunk = await this.#next();
      if (!chunk) return true;
      bytes += chunk.length;
    }
    return false;
  }

  async *#chunks(): AsyncGenerator<Buffer> {
    for (let chunk = await this.#next(); chunk; chunk = await this.#next()) yield chunk;
  }

  async #next(): Promise<Buffer | undefined> {
    if (this.#buffer.length > 0) {
      const chunk = this.#buffer;
      this.#buffer = Buffer.alloc(0);
      return chunk;
    }
    if (this.#hasEnded) return undefined;
    const { done, value } = await this.#source.next();
    this.#hasEnded = done === true;
    return done ? undefined : value;
  }

  async #take(bytes: number): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for (let missing = bytes; missing > 0; ) {
      const chunk = await this.#next();
      if (!chunk) throw new ProtocolError("The request ended too early.");
      chunks.push(chunk.subarray(0, missing));
      this.#buffer = chunk.subarray(missing);
      missing -= Math.min(missing, chunk.length);
    }
    return Buffer.concat(chunks);
  }
}
