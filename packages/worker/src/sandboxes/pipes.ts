import { execFile } from "node:child_process";
import { chmodSync, chownSync, closeSync, constants, mkdtempSync, openSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Identity } from "./identity.ts";

const batch = 16;
/** The most that Linux keeps in a pipe for an ordinary user. */
const pipeHolds = 2 ** 20;
const lookMs = 100;
/** Holds a file without opening it, so that a fifo has no reader or writer because of us. Node does not name it. */
const O_PATH = 0o10000000;

export interface Pipe {
  reader: Socket;
  /** A file descriptor for the child; to be closed here once the child has it. */
  writer: number;
  /** The fifo itself. */
  held: number;
}

/**
 * Real pipes for the output of commands. What Node makes for "pipe" is a pair of sockets, on which
 * `echo oops > /dev/stderr` fails: Linux opens no socket by path. Node cannot make a pipe, so these are fifos without
 * a name; when both ends of a fifo are closed nothing is left in it.
 */
export class Fifos {
  readonly #folder: string;
  #fresh: number[] = [];
  #making: Promise<void> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** One that nobody has had before. */
  async take(): Promise<number> {
    for (;;) {
      const fifo = this.#fresh.pop();
      if (fifo !== undefined) return fifo;
      this.#making ??= this.#make().finally(() => {
        this.#making = undefined;
      });
      await this.#making;
    }
  }

  close(): void {
    for (const held of this.#fresh.splice(0)) closeSync(held);
  }

  async #make(): Promise<void> {
    const folder = mkdtempSync(join(this.#folder, ".pipes-"));
    try {
      const paths = Array.from({ length: batch }, (_, index) => join(folder, String(index)));
      await promisify(execFile)("mkfifo", ["-m", "600", ...paths], { env: { PATH: "/usr/bin:/bin" } });
      this.#fresh.push(...paths.map((path) => openSync(path, O_PATH)));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

/**
 * The pipes of one sandbox, used again for its later commands and for nobody else's: a command can hand its output's
 * end to another command of its sandbox, which then has it for as long as that one lives.
 */
export class Pipes {
  readonly #fifos: Fifos;
  #free: number[] = [];
  #closed = false;

  constructor(fifos: Fifos) {
    this.#fifos = fifos;
  }

  /** Two fifos, for stdout and stderr. Their waiting is apart from `open`, which has no time to lose. */
  async reserve(): Promise<[number, number]> {
    return [this.#free.pop() ?? (await this.#fifos.take()), this.#free.pop() ?? (await this.#fifos.take())];
  }

  giveBack(reserved: [number, number]): void {
    for (const held of reserved) this.#take(held);
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

  release({ reader, held }: Pipe): void {
    if (reader.closed) this.#take(held);
    else reader.once("close", () => this.#take(held));
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

  #take(held: number): void {
    if (this.#closed) closeSync(held);
    else this.#free.push(held);
  }
}

/**
 * Ends what nobody can write to any more but somebody who was handed the other end: the command's processes are gone, and
 * what they wrote is read once nothing has come for a moment, or more than a pipe holds.
 */
export function endSoon({ reader }: Pipe): void {
  if (reader.closed) return;
  const before = reader.bytesRead;
  let last = -1;
  const timer = setInterval(() => {
    const { bytesRead, readableLength } = reader;
    if (bytesRead - before > pipeHolds) reader.destroy();
    else if (bytesRead === last && readableLength === 0) reader.push(null);
    last = bytesRead;
  }, lookMs);
  reader.once("close", () => clearInterval(timer));
}
