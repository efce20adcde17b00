import { createHash, randomUUID } from "node:crypto";
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { isOutOfSpace } from "./free-space.ts";

/** Events hold the first and the last 32 KiB of a command's output; what is longer is kept whole as a file. */
const EVENTS_HOLD = 64 * 1024;
/** Nobody reads more, and a disk is not without end. */
const FILE_HOLDS = 256 * 1024 * 1024;

export interface KeptFile {
  path: string;
  sha256: string;
  size_bytes: number;
}

/**
 * The whole output of one command, which becomes a file only when events cannot hold it. It is written synchronously:
 * a command that prints without end then waits for the disk instead of filling memory.
 */
export class OutputFile {
  private readonly folder: string;
  private readonly hash = createHash("sha256");
  private start: string[] = [];
  private size = 0;
  private file: { path: string; descriptor: number } | undefined;
  /** The disk was full: what was written is gone again, and the rest is not kept. */
  isGivenUp = false;

  constructor(folder: string) {
    this.folder = folder;
  }

  write(text: string) {
    const bytes = Buffer.byteLength(text);
    if (this.isGivenUp || this.size + bytes > FILE_HOLDS) return;
    this.size += bytes;
    this.hash.update(text);
    try {
      if (this.file) writeWhole(this.file.descriptor, text);
      else this.start.push(text);
      if (!this.file && this.size > EVENTS_HOLD) this.spill();
    } catch (error) {
      if (!isOutOfSpace(error)) throw error;
      this.giveUp();
    }
  }

  /** The file, where there is one. */
  end(): KeptFile | undefined {
    if (!this.file) return undefined;
    closeSync(this.file.descriptor);
    return { path: this.file.path, sha256: this.hash.digest("hex"), size_bytes: this.size };
  }

  remove() {
    if (this.file) rmSync(this.file.path, { force: true });
  }

  private spill() {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    const path = join(this.folder, `${randomUUID()}.output`);
    this.file = { path, descriptor: openSync(path, "wx", 0o600) };
    writeWhole(this.file.descriptor, this.start.join(""));
    this.start = [];
  }

  private giveUp() {
    this.isGivenUp = true;
    this.start = [];
    if (this.file) closeSync(this.file.descriptor);
    this.remove();
    this.file = undefined;
  }
}

/** A disk that runs full takes a part. */
function writeWhole(descriptor: number, text: string) {
  const data = Buffer.from(text);
  for (let done = 0; done < data.length; ) done += writeSync(descriptor, data, done);
}
