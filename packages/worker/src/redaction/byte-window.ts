const MIN_CAPACITY = 1024;
const NEAR_BYTES = 64;

/**
 * The part of a byte stream that is still needed. Positions count from the start of the stream; `index(position)` is the
 * place in `bytes`. Appending and releasing take constant time per byte on average.
 */
export class ByteWindow {
  bytes = Buffer.allocUnsafe(MIN_CAPACITY);
  /** The position of the first byte in the buffer. */
  base = 0;
  /** The position of the first byte that is still needed. */
  first = 0;
  /** The position after the last byte. */
  end = 0;

  append(chunk: Uint8Array) {
    const needed = this.end - this.first + chunk.length;
    if (this.end - this.base + chunk.length > this.bytes.length) {
      const target = needed * 2 > this.bytes.length ? Buffer.allocUnsafe(needed * 2) : this.bytes;
      this.bytes.copy(target, 0, this.first - this.base, this.end - this.base);
      this.bytes = target;
      this.base = this.first;
    }
    this.bytes.set(chunk, this.end - this.base);
    this.end += chunk.length;
  }

  /** Forgets the bytes before a position. */
  release(position: number) {
    this.first = position;
  }

  /** Returns a view of the bytes between two positions, which is valid until the next call of `append`. */
  slice(start: number, end: number): Buffer {
    return this.bytes.subarray(start - this.base, end - this.base);
  }

  /** Returns the position of the next occurrence of a byte, or -1. */
  indexOf(byte: number, from: number): number {
    const { bytes, base } = this;
    const end = this.end - base;
    const nearEnd = Math.min(end, from - base + NEAR_BYTES);
    let index = from - base;
    // The native search is faster, but it takes long to start.
    for (; index < nearEnd; index++) if (bytes[index] === byte) return base + index;
    const found = index < end ? bytes.subarray(index, end).indexOf(byte) : -1;
    return found < 0 ? -1 : base + index + found;
  }

  clear() {
    this.base = this.first = this.end = 0;
  }
}
