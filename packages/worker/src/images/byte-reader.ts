import { corrupt } from "./image-error.ts";

/** Reads exact numbers of bytes from chunks of any size. */
export class ByteReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** Returns undefined at the end. */
  async read(length: number): Promise<Buffer | undefined> {
    if (this.#rest.length >= length) return this.#cut(length);
    const parts = [this.#rest];
    for (let have = this.#rest.length; have < length; have += this.#rest.length) {
      if (!(await this.#next())) {
        if (have === 0) return undefined;
        throw corrupt("A layer's tar archive is incomplete.");
      }
      parts.push(this.#rest);
    }
    this.#rest = Buffer.concat(parts);
    return this.#cut(length);
  }

  async readExactly(length: number): Promise<Buffer> {
    const data = length === 0 ? Buffer.alloc(0) : await this.read(length);
    if (!data) throw corrupt("A layer's tar archive is incomplete.");
    return data;
  }

  /** Iterates over the next bytes without collecting them. */
  async *take(length: number): AsyncGenerator<Buffer> {
    for (let left = length; left > 0; ) {
      if (this.#rest.length === 0 && !(await this.#next()))
        throw corrupt("A layer's tar archive is incomplete.");
      const chunk = this.#cut(Math.min(left, this.#rest.length));
      left -= chunk.length;
      yield chunk;
    }
  }

  async skip(length: number): Promise<void> {
    for await (const _ of this.take(length));
  }

  /** Iterates over everything that is left. */
  async *rest(): AsyncGenerator<Buffer> {
    do if (this.#rest.length > 0) yield this.#cut(this.#rest.length);
    while (await this.#next());
  }

  async drain(): Promise<void> {
    while (await this.#next());
  }

  #cut(length: number): Buffer {
    const data = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(length);
    return data;
  }

  async #next(): Promise<boolean> {
    const { done, value } = await this.#chunks.next();
    this.#rest = done ? Buffer.alloc(0) : value;
    return !done;
  }
}
