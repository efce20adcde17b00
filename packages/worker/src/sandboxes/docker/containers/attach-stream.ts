import { Duplex } from "node:stream";
import type Docker from "dockerode";

const headerBytes = 8;
const stdout = 1;
const maxStderrBytes = 4096;

/**
 * The stdin and stdout of a container, as one stream. The engine sends the output of a container without a terminal in
 * frames: the number of the stream, three zeros, the length of the data in four bytes, and the data.
 */
export class AttachStream extends Duplex {
  readonly #socket: Duplex;
  readonly #header = Buffer.alloc(headerBytes);
  #headerFilled = 0;
  #left = 0;
  #stderr = "";

  constructor(socket: Duplex) {
    super({ allowHalfOpen: true });
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#onData(chunk));
    socket.once("end", () => this.push(null));
    socket.once("error", (error) => this.destroy(error));
    socket.once("close", () => this.#onClose());
  }

  /** The beginning of what the container has written to stderr. */
  get stderr(): string {
    return this.#stderr.trim();
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: string, callback: (error?: Error | null) => void): void {
    this.#socket.write(chunk, callback);
  }

  override _final(callback: () => void): void {
    this.#socket.end(callback);
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#socket.destroy();
    callback(error);
  }

  /** What was received before the end is still read. */
  #onClose(): void {
    if (this.#socket.readableEnded && !this.readableEnded) this.once("end", () => this.destroy());
    else this.destroy();
  }

  #onData(chunk: Buffer): void {
    for (let offset = 0; offset < chunk.length; ) {
      if (this.#left === 0) {
        const copied = chunk.copy(this.#header, this.#headerFilled, offset);
        this.#headerFilled += copied;
        offset += copied;
        if (this.#headerFilled < headerBytes) return;
        this.#headerFilled = 0;
        this.#left = this.#header.readUInt32BE(4);
        continue;
      }
      const data = chunk.subarray(offset, offset + this.#left);
      offset += data.length;
      this.#left -= data.length;
      if (this.#header[0] !== stdout) this.#stderr = (this.#stderr + data).slice(0, maxStderrBytes);
      else if (!this.push(data)) this.#socket.pause();
    }
  }
}

/**
 * Attaches to a container that is not running yet, so that nothing of its output is lost. The client's own method sends its
 * options as the body of the request too, and Podman passes that body to the container's stdin.
 */
export async function attach({ id, modem }: Docker.Container): Promise<AttachStream> {
  const socket = await new Promise<Duplex>((resolve, reject) => {
    modem.dial(
      {
        ...{ path: `/containers/${id}/attach?`, method: "POST", hijack: true, isStream: true },
        options: { stream: true, stdin: true, stdout: true, stderr: true },
        file: Buffer.alloc(0),
        statusCodes: { 200: true, 404: "no such container", 409: "container is paused", 500: "server error" },
      },
      (error: unknown, stream: unknown) => (error ? reject(error) : resolve(stream as Duplex)),
    );
  });
  return new AttachStream(socket);
}
