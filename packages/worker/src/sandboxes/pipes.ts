import { execFile } from "node:child_process";
import { chmodSync, chownSync, closeSync, constants, mkdtempSync, openSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import type { Identity } from "./identity.ts";

const batch = 16;
/** Holds a file without opening it, so that a fifo has no reader or writer because of us. Node does not name it. */
const O_PATH = 0o10000000;

export interface Pipe {
  reader: Readable;
  /** A file descriptor for the child; to be closed here once the child has it. */
  writer: number;
  /** The fifo itself. */
  held: number;
}

/**
 * Real pipes for the output of commands. What Node makes for "pipe" is a pair of sockets, on which
 * `echo oops > /dev/stderr` fails: Linux opens no socket by path. Node cannot make a pipe, so these are fifos without
 * a name, used again and again; when both ends of a fifo are closed nothing is left in it.
 */
export class Pipes {
  readonly #folder: string;
  #free: number[] = [];
  #making: Promise<void> | undefined;
  #closed = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Two fifos, for stdout and stderr. Their waiting is apart from `open`, which has no time to lose. */
  async reserve(): Promise<[number, number]> {
    while (this.#free.length < 2) {
      this.#making ??= this.#make().finally(() => {
        this.#making = undefined;
      });
      await this.#making;
    }
    return this.#free.splice(-2) as [number, number];
  }

  giveBack(reserved: [number, number]): void {
    this.#free.push(...reserved);
  }

  open(reserved: [number, number], owner: Identity | undefined): [Pipe, Pipe] {
    const opened: Pipe[] = [];
    try {
      for (const held of reserved) opened.push(this.#open(held, owner));
      return opened as [Pipe, Pipe];
    } catch (error) {
      for (const { reader, writer } of opened) {
        reader.destroy();
        closeSync(writer);
      }
      this.giveBack(reserved);
      throw error;
    }
  }

  /** Only when no process can have the writer any more: the next command may be another sandbox's. */
  release({ reader, held }: Pipe): void {
    const take = () => (this.#closed ? closeSync(held) : this.#free.push(held));
    if (reader.closed) take();
    else reader.once("close", take);
  }

  close(): void {
    this.#closed = true;
    for (const held of this.#free.splice(0)) closeSync(held);
  }

  #open(held: number, owner: Identity | undefined): Pipe {
    const path = `/proc/self/fd/${held}`;
    // Whoever opens /dev/stdout opens the fifo again, and the kernel asks for the right to. The last user of this
    // one had it too, and may have changed its mode.
    if (owner) chownSync(path, owner.uid, owner.gid);
    chmodSync(path, 0o600);
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const writer = openSync(path, constants.O_WRONLY);
      return { reader: new Socket({ fd, readable: true, writable: false }), writer, held };
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  async #make(): Promise<void> {
    const folder = mkdtempSync(join(this.#folder, ".pipes-"));
    try {
      const paths = Array.from({ length: batch }, (_, index) => join(folder, String(index)));
      await promisify(execFile)("mkfifo", ["-m", "600", ...paths], { env: { PATH: "/usr/bin:/bin" } });
      this.#free.push(...paths.map((path) => openSync(path, O_PATH)));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}
