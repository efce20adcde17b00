import { randomUUID } from "node:crypto";
import { createWriteStream, mkdirSync, type WriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type Readable, type Transform, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { HashingStream } from "../hashing-stream.ts";
import type { ServerClient } from "../server-client/server-client.ts";

/** Up to this size, content is uploaded from memory. */
const MAX_BYTES_IN_MEMORY = 512 * 1024;

interface UploadOptions {
  server: Pick<ServerClient, "putBlob">;
  /** The folder for the temporary files of large content. */
  folder: string;
  signal: AbortSignal;
}

/** Uploads a stream as a blob. The blob's hash must be known before its upload starts. */
export async function uploadStream(
  content: [Readable, ...Transform[]],
  { server, folder, signal }: UploadOptions,
): Promise<{ sha256: string; size_bytes: number }> {
  const hashing = new HashingStream();
  const spool = new Spool(folder);
  try {
    await pipeline([...content, hashing, spool], { signal });
    const stored = hashing.result();
    await server.putBlob(spool.content, stored.sha256, signal);
    return stored;
  } finally {
    await spool.remove();
  }
}

/** Keeps content in memory or, if it is large, in a file. */
class Spool extends Writable {
  readonly #folder: string;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #file: WriteStream | undefined;

  constructor(folder: string) {
    super();
    this.#folder = folder;
  }

  /** The content, or the path of the file with it. */
  get content(): Buffer | string {
    return this.#file ? (this.#file.path as string) : Buffer.concat(this.#chunks);
  }

  async remove(): Promise<void> {
    if (this.#file) await rm(this.#file.path, { force: true });
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void) {
    if (this.#file) {
      this.#file.write(chunk, done);
      return;
    }
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes <= MAX_BYTES_IN_MEMORY) return done();
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    } catch (error) {
      return done(error as Error);
    }
    this.#file = createWriteStream(join(this.#folder, `${randomUUID()}.part`), { mode: 0o600 });
    this.#file.on("error", (error) => this.destroy(error));
    this.#file.write(Buffer.concat(this.#chunks.splice(0)), done);
  }

  override _final(done: (error?: Error | null) => void) {
    if (this.#file) this.#file.end(done);
    else done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void) {
    this.#file?.destroy();
    done(error);
  }
}
