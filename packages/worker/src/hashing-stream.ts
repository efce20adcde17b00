import { createHash } from "node:crypto";
import { Transform } from "node:stream";

/** Passes bytes through and computes their SHA-256 and size. */
export class HashingStream extends Transform {
  readonly #hash = createHash("sha256");
  #size = 0;

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: (error: null, data: Buffer) => void) {
    this.#hash.update(chunk);
    this.#size += chunk.length;
    done(null, chunk);
  }

  /** Call once, after the stream has ended. */
  result(): { sha256: string; size_bytes: number } {
    return { sha256: this.#hash.digest("hex"), size_bytes: this.#size };
  }
}
