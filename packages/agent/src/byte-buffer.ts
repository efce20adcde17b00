const MIN_CAPACITY = 4 * 1024;

/**
 * Collects chunks of bytes. It copies them, because a hostile sender can send single bytes, and a list with one object
 * per byte would exhaust the memory.
 */
export class ByteBuffer {
  #bytes = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  append(chunk: Uint8Array) {
    const length = this.#length + chunk.length;
    if (length > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(Math.max(MIN_CAPACITY, 2 * this.#bytes.length, length));
      grown.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = grown;
    }
    this.#bytes.set(chunk, this.#length);
    this.#length = length;
  }

  /** Returns all collected bytes and starts over. */
  take(): Buffer {
    const bytes = this.#bytes.subarray(0, this.#length);
    this.#bytes = Buffer.alloc(0);
    this.#length = 0;
    return bytes;
  }
}
