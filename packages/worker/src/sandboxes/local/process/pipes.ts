import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, closeSync, constants, openSync } from "node:fs";
import { Socket } from "node:net";
import { createInterface } from "node:readline";
import type { UnixAccount } from "../unix-account.ts";

const batchSize = 16;
/** The largest pipe buffer that Linux allows an ordinary user. */
const pipeCapacity = 2 ** 20;
const drainCheckMs = 100;
/**
 * Refers to a file without opening it for I/O, so that it counts as neither reader nor writer. Node does not define
 * this constant.
 */
const O_PATH = 0o10000000;

export interface Pipe {
  reader: Socket;
  /** A file descriptor for the child. The parent closes it after spawning the child. */
  writer: number;
  /** The fifo's O_PATH descriptor. */
  fifo: number;
}

/** Opens pipes, prints their file descriptors on one line and exits when its stdin ends. */
const pipesScript = `
for ((i = 0; i < ${batchSize}; i++)); do
  exec {pipe}<> <(:)
  printf "%d " $pipe
done
echo
read -r
`;

/**
 * Creates real pipes for command output. For "pipe", Node creates a pair of sockets, on which `echo oops > /dev/stderr`
 * fails, because Linux cannot open a socket by path. Node cannot create pipes, so a shell does. Named fifos would work
 * too, but /proc/self/fd would show their path on the host. A pipe whose ends are both closed is empty and can be
 * reused.
 */
export class Fifos {
  #unused: number[] = [];
  #creating: Promise<void> | undefined;

  /** Returns a fifo that no sandbox has used before. */
  async take(): Promise<number> {
    for (;;) {
      const fifo = this.#unused.pop();
      if (fifo !== undefined) return fifo;
      this.#creating ??= this.#createBatch().finally(() => {
        this.#creating = undefined;
      });
      await this.#creating;
    }
  }

  close(): void {
    for (const fifo of this.#unused.splice(0)) closeSync(fifo);
  }

  async #createBatch(): Promise<void> {
    const shell = spawn("/bin/bash", ["--norc", "-c", pipesScript], {
      stdio: ["pipe", "pipe", "ignore"],
      env: { PATH: "/usr/bin:/bin" },
      cwd: "/",
    });
    const exit = once(shell, "close");
    try {
      const line = once(createInterface({ input: shell.stdout }), "line");
      const [fds = ""] = await Promise.race([line, exit.then(() => [])]);
      const created = String(fds).split(" ").filter(Boolean);
      if (created.length < batchSize) throw new Error("bash cannot create pipes for a sandbox's commands.");
      for (const fd of created) this.#unused.push(openSync(`/proc/${shell.pid}/fd/${fd}`, O_PATH));
    } finally {
      shell.stdin.end();
      await exit;
    }
  }
}

/**
 * One sandbox's pipes. Later commands in the same sandbox reuse them, but other sandboxes never do: a command can pass
 * its end of a pipe to another command in its sandbox, which may keep it open.
 */
export class Pipes {
  readonly #fifos: Fifos;
  #free: number[] = [];
  #isClosed = false;

  constructor(fifos: Fifos) {
    this.#fifos = fifos;
  }

  /** Reserves fifos for stdout and stderr. Separate from `open`, because `open` must be synchronous. */
  async reserve(): Promise<[number, number]> {
    return [this.#free.pop() ?? (await this.#fifos.take()), this.#free.pop() ?? (await this.#fifos.take())];
  }

  giveBack(reserved: [number, number]): void {
    for (const fifo of reserved) this.#returnFifo(fifo);
  }

  open(reserved: [number, number], owner: UnixAccount | undefined): [Pipe, Pipe] {
    const opened: Pipe[] = [];
    try {
      for (const fifo of reserved) opened.push(this.#openFifo(fifo, owner));
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

  release({ reader, fifo }: Pipe): void {
    if (reader.closed) this.#returnFifo(fifo);
    else reader.once("close", () => this.#returnFifo(fifo));
  }

  close(): void {
    this.#isClosed = true;
    for (const fifo of this.#free.splice(0)) closeSync(fifo);
  }

  #openFifo(fifo: number, owner: UnixAccount | undefined): Pipe {
    const path = `/proc/self/fd/${fifo}`;
    // Opening /dev/stdout opens the fifo again, which requires permission. A previous command may have changed the
    // fifo's mode.
    if (owner) chownSync(path, owner.uid, owner.gid);
    chmodSync(path, 0o600);
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const writer = openSync(path, constants.O_WRONLY);
      return { reader: new Socket({ fd, readable: true, writable: false }), writer, fifo };
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  #returnFifo(fifo: number): void {
    if (this.#isClosed) closeSync(fifo);
    else this.#free.push(fifo);
  }
}

/**
 * Ends the reader after the command's processes have exited. Another command may still have the write end open, so the
 * reader cannot wait for end of file. It ends when no data has arrived for a moment, or when it has read more than a
 * pipe can buffer.
 */
export function endWhenDrained({ reader }: Pipe): void {
  if (reader.closed) return;
  const before = reader.bytesRead;
  let last = -1;
  const timer = setInterval(() => {
    const { bytesRead, readableLength } = reader;
    if (bytesRead - before > pipeCapacity) reader.destroy();
    else if (bytesRead === last && readableLength === 0) reader.push(null);
    last = bytesRead;
  }, drainCheckMs);
  reader.once("close", () => clearInterval(timer));
}
