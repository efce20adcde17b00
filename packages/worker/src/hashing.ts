import { createHash } from "node:crypto";
import { Transform } from "node:stream";

/** Lets bytes through and knows in the end what they were. */
export class Hashing extends Transform {
  readonly #hash = createHash("sha256");
  #size = 0;

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: (error: null, data: Buffer) => void) {
    this.#hash.update(chunk);
    this.#size += chunk.length;
    done(null, chunk);
  }

  result(): { sha256: string; size_bytes: number } {
    return { sha256: this.#hash.digest("hex"), size_bytes: this.#size };
  }
}
