import { createHash } from "node:crypto";

export const chunkBytes = { min: 2 ** 20, max: 4 * 2 ** 20 };

/** A cut is expected 1 MiB after the minimum. The upper bits depend on more of the last 32 bytes than the lower ones. */
const MASK = 0xfffff000 | 0;
const WINDOW = 32;

/** A random number for each byte. Builds share chunks only if they use the same numbers. */
const gear = Int32Array.from({ length: 256 }, (_, byte) =>
  createHash("sha256").update(`outrider chunks ${byte}`).digest().readInt32LE(),
);

/**
 * Cuts a stream where its content says so (FastCDC with a gear hash), so that a change affects only the chunks around
 * it. Fixed positions would change all chunks after an insertion.
 */
export class Chunker {
  readonly #chunk = Buffer.alloc(chunkBytes.max);
  #length = 0;
  #hash = 0;

  /** Returns the chunks that are complete. */
  push(data: Buffer): Buffer[] {
    const complete: Buffer[] = [];
    for (let at = 0; at < data.length; ) {
      const copied = data.copy(this.#chunk, this.#length, at);
      const end = this.#findCut(this.#length + copied);
      at += (end ?? this.#length + copied) - this.#length;
      if (end === undefined) this.#length += copied;
      else complete.push(this.#take(end));
    }
    return complete;
  }

  /** Returns the last chunk, if there is one. */
  finish(): Buffer | undefined {
    return this.#length === 0 ? undefined : this.#take(this.#length);
  }

  /** Returns where to cut the bytes before `filled`, or undefined. The bytes before `#length` have been searched. */
  #findCut(filled: number): number | undefined {
    const chunk = this.#chunk;
    let hash = this.#hash;
    for (let at = Math.max(this.#length, chunkBytes.min - WINDOW); at < filled; at++) {
      hash = ((hash << 1) + (gear[chunk[at] as number] as number)) | 0;
      if ((hash & MASK) === 0 && at >= chunkBytes.min) return at;
    }
    this.#hash = hash;
    return filled === chunkBytes.max ? filled : undefined;
  }

  #take(end: number): Buffer {
    this.#length = 0;
    this.#hash = 0;
    return Buffer.from(this.#chunk.subarray(0, end));
  }
}
