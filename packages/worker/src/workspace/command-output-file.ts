import { createHash, randomUUID } from "node:crypto";
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { isOutOfSpace } from "../free-space.ts";

/** Events contain the first and last 32 KiB of a command's output. Longer output is also written to a file. */
const MAX_EVENT_BYTES = 64 * 1024;
/** The default size limit, which protects the disk. */
const MAX_FILE_BYTES = 256 * 1024 * 1024;

/** A file on the worker's disk that is ready to be uploaded. */
export interface StoredFile {
  path: string;
  sha256: string;
  size_bytes: number;
}

/**
 * Collects one command's output up to a size limit. It creates a file only if the output is too long for events. Writes are
 * synchronous, so that a command with endless output waits for the disk instead of filling the worker's memory.
 */
export class OutputFile {
  readonly #folder: string;
  readonly #maxBytes: number;
  readonly #hash = createHash("sha256");
  #buffered: Buffer[] = [];
  #size = 0;
  /** The size of the output as text in events, where invalid bytes are replaced with longer characters. */
  #eventBytes = 0;
  #file: { path: string; descriptor: number } | undefined;
  #isClosed = false;
  /** Whether the disk was full, so that the file was removed and further output is dropped. */
  isAbandoned = false;
  /** Whether the output exceeded the size limit, so that the file contains only its beginning. */
  isTruncated = false;

  constructor(folder: string, { maxBytes = MAX_FILE_BYTES }: { maxBytes?: number | undefined } = {}) {
    this.#folder = folder;
    this.#maxBytes = maxBytes;
  }

  write(data: Buffer, { eventBytes }: { eventBytes: number }) {
    // Once a chunk is dropped, so are all later ones. Otherwise the file would have gaps.
    this.isTruncated ||= this.#size + data.length > this.#maxBytes;
    if (this.isAbandoned || this.isTruncated) return;
    this.#size += data.length;
    this.#eventBytes += eventBytes;
    this.#hash.update(data);
    try {
      if (this.#file) writeAll(this.#file.descriptor, data);
      else this.#buffered.push(data);
      if (!this.#file && this.#eventBytes > MAX_EVENT_BYTES) this.#spill();
    } catch (error) {
      if (!isOutOfSpace(error)) throw error;
      this.#abandon();
    }
  }

  /** Closes and returns the file, if there is one. */
  end(): StoredFile | undefined {
    if (!this.#file) return undefined;
    this.#close();
    return { path: this.#file.path, sha256: this.#hash.digest("hex"), size_bytes: this.#size };
  }

  /** Removes the file, also if the output has not ended. */
  remove() {
    if (!this.#file) return;
    this.#close();
    rmSync(this.#file.path, { force: true });
  }

  #close() {
    if (this.#file && !this.#isClosed) closeSync(this.#file.descriptor);
    this.#isClosed = true;
  }

  #spill() {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const path = join(this.#folder, `${randomUUID()}.output`);
    this.#file = { path, descriptor: openSync(path, "wx", 0o600) };
    writeAll(this.#file.descriptor, Buffer.concat(this.#buffered));
    this.#buffered = [];
  }

  #abandon() {
    this.isAbandoned = true;
    this.#buffered = [];
    this.remove();
    this.#file = undefined;
  }
}

/** Writes all bytes. A single write may be partial, for example when the disk fills up. */
function writeAll(descriptor: number, data: Buffer) {
  for (let written = 0; written < data.length; ) written += writeSync(descriptor, data, written);
}
