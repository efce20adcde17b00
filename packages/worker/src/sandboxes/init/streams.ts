import { Duplex, Readable, Writable } from "node:stream";
import { ReceiveWindow, type Send, SendWindow } from "./credit.ts";
import { toInit } from "./frames.ts";

const highWaterMark = 64 * 1024;

/** The output of a command. A command whose output is not read blocks. */
export class OutputStream extends Readable {
  readonly #send: Send;
  readonly #id: number;
  readonly #window: ReceiveWindow;
  #unread = 0;
  #hasEnded = false;

  constructor(send: Send, id: number) {
    super({ highWaterMark });
    this.#send = send;
    this.#id = id;
    this.#window = new ReceiveWindow(send, id);
    this.on("error", () => {}); // an unread stream must not crash the worker
  }

  onData(data: Buffer): void {
    this.#window.onData(data.length);
    if (this.destroyed || this.push(data)) this.#window.onRead(data.length);
    else this.#unread += data.length;
  }

  onEnd(): void {
    this.#hasEnded = true;
    this.push(null);
  }

  override _read(): void {
    const unread = this.#unread;
    this.#unread = 0;
    if (unread > 0) this.#window.onRead(unread);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.#hasEnded) this.#send(toInit.reset, this.#id);
    callback(error);
  }
}

/** The stdin of a command. */
export class InputStream extends Writable {
  readonly #send: Send;
  readonly #id: number;
  readonly #window: SendWindow;
  #isClosed = false;

  constructor(send: Send, id: number) {
    super({ highWaterMark });
    this.#send = send;
    this.#id = id;
    this.#window = new SendWindow(send, id);
    this.on("error", () => {}); // a command may exit without reading its input
  }

  onCredit(bytes: number): void {
    this.#window.grant(bytes);
  }

  onClosed(): void {
    this.#isClosed = true;
    this.#window.close();
    this.destroy();
  }

  override _write(data: Buffer, _: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#window.write(data, callback);
  }

  override _final(callback: (error?: Error | null) => void): void {
    if (!this.#isClosed) this.#send(toInit.end, this.#id);
    callback();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.#isClosed && !this.writableFinished) this.#send(toInit.reset, this.#id);
    callback(error);
  }
}

/**
 * A connection from inside the sandbox to a port on which init listens. If it is destroyed with an error, its other end sees
 * an error too.
 */
export class ConnectionStream extends Duplex {
  readonly #send: Send;
  readonly #id: number;
  readonly #received: ReceiveWindow;
  readonly #sent: SendWindow;
  #unread = 0;
  #hasEnded = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(send: Send, id: number) {
    super({ highWaterMark, allowHalfOpen: true });
    this.#send = send;
    this.#id = id;
    this.#received = new ReceiveWindow(send, id);
    this.#sent = new SendWindow(send, id);
    this.on("error", () => {});
  }

  /** Like `net.Socket.setTimeout`, for the http module: emits "timeout" after a time without data. */
  setTimeout(ms: number, callback?: () => void): this {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (ms > 0 && !this.destroyed) this.#timer = setTimeout(() => this.emit("timeout"), ms).unref();
    if (callback) this.once("timeout", callback);
    return this;
  }

  onData(data: Buffer): void {
    this.#timer?.refresh();
    this.#received.onData(data.length);
    if (this.destroyed || this.push(data)) this.#received.onRead(data.length);
    else this.#unread += data.length;
  }

  onEnd(): void {
    this.#hasEnded = true;
    if (!this.destroyed) this.push(null);
  }

  onCredit(bytes: number): void {
    this.#timer?.refresh();
    this.#sent.grant(bytes);
  }

  onClosed(): void {
    this.#isClosed = true;
    this.#sent.close();
    // A connection that was closed in the middle must not look complete.
    if (this.#hasEnded && this.writableFinished) return;
    this.destroy(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }));
  }

  override _read(): void {
    const unread = this.#unread;
    this.#unread = 0;
    if (unread > 0) this.#received.onRead(unread);
  }

  override _write(data: Buffer, _: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#timer?.refresh();
    this.#sent.write(data, callback);
  }

  override _final(callback: (error?: Error | null) => void): void {
    if (!this.#isClosed) this.#send(toInit.end, this.#id);
    callback();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    clearTimeout(this.#timer);
    const isComplete = this.readableEnded && this.writableFinished;
    if (!this.#isClosed && !isComplete) {
      const payload = Buffer.alloc(4);
      payload.writeUInt32LE(error ? 1 : 0);
      this.#send(toInit.reset, this.#id, payload);
    }
    callback(error);
  }
}
