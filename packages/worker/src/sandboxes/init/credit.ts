import { maxDataBytes, ProtocolError, toInit, window } from "./frames.ts";

export type Send = (type: number, id: number, payload?: Buffer) => void;

/** Counts what init may still send on a stream, and grants more as it is read. */
export class ReceiveWindow {
  readonly #send: Send;
  readonly #id: number;
  #left = window;
  #read = 0;

  constructor(send: Send, id: number) {
    this.#send = send;
    this.#id = id;
  }

  onData(bytes: number): void {
    if (bytes > this.#left) throw new ProtocolError(`Stream ${this.#id} exceeds its window.`);
    this.#left -= bytes;
  }

  /** Grants credit for bytes that were read. Sends few frames for many small reads. */
  onRead(bytes: number): void {
    this.#read += bytes;
    if (this.#read < window / 4) return;
    const payload = Buffer.allocUnsafe(4);
    payload.writeUInt32LE(this.#read);
    this.#left += this.#read;
    this.#read = 0;
    this.#send(toInit.credit, this.#id, payload);
  }
}

/** Sends data within the credit that init has granted. */
export class SendWindow {
  readonly #send: Send;
  readonly #id: number;
  #credit = window;
  #waiting: { data: Buffer; done: (error?: Error | null) => void } | undefined;

  constructor(send: Send, id: number) {
    this.#send = send;
    this.#id = id;
  }

  /** Calls back when all data was sent. There is one write at a time, as with a stream's `_write`. */
  write(data: Buffer, done: (error?: Error | null) => void): void {
    let offset = 0;
    while (offset < data.length && this.#credit > 0) {
      const size = Math.min(data.length - offset, this.#credit, maxDataBytes);
      this.#send(toInit.data, this.#id, data.subarray(offset, offset + size));
      this.#credit -= size;
      offset += size;
    }
    if (offset === data.length) done();
    else this.#waiting = { data: data.subarray(offset), done };
  }

  grant(bytes: number): void {
    this.#credit += bytes;
    if (this.#credit > window) throw new ProtocolError(`Stream ${this.#id} granted too much credit.`);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting) this.write(waiting.data, waiting.done);
  }

  /** Fails the write that waits for credit, if there is one. */
  close(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.done(brokenPipe());
  }
}

function brokenPipe(): Error {
  return Object.assign(new Error("write EPIPE"), { code: "EPIPE", syscall: "write" });
}
