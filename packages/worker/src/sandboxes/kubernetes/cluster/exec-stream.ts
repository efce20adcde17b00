import { Duplex } from "node:stream";
import type { V1Status } from "@kubernetes/client-node";

/** The part of a WebSocket of the package `ws` that is used. */
export interface ExecSocket {
  readonly protocol: string;
  send(data: Buffer, callback: (error?: Error) => void): void;
  ping(): void;
  terminate(): void;
  on(event: "close" | "pong", listener: () => void): void;
  on(event: "error", listener: (error: Error) => void): void;
}

const channels = { stdin: 0, stdout: 1, stderr: 2, status: 3, close: 255 } as const;
const maxStderrBytes = 4096;
/** A connection whose other end has vanished is noticed after the second time. */
const pingMs = 10_000;
const maxMissedPings = 2;

/**
 * The stdin and stdout of a process that runs in a container through `pods/exec`. A message of the WebSocket begins with the
 * number of its channel. The process may continue when the stream is closed, so it must end when its stdin does.
 */
export class ExecStream extends Duplex {
  #socket: ExecSocket | undefined;
  #pings: NodeJS.Timeout | undefined;
  #missedPings = 0;
  #stderr = "";
  #status: V1Status | undefined;

  constructor() {
    super({ allowHalfOpen: true });
    this.on("error", () => {}); // the reason is in `problem`
  }

  /** Why the process did not start or has failed, as the cluster or the process itself says. */
  get problem(): string | undefined {
    if (this.#stderr !== "") return this.#stderr.trim();
    return this.#status?.status === "Success" ? undefined : this.#status?.message;
  }

  /** Called with each message of the socket, also before `open`. */
  receive(channel: number, data: Buffer): void {
    if (channel === channels.stdout) this.push(data);
    else if (channel === channels.stderr) this.#stderr = (this.#stderr + data).slice(0, maxStderrBytes);
    else if (channel === channels.status) {
      this.#status = parseStatus(data);
      this.push(null);
    }
  }

  open(socket: ExecSocket): void {
    this.#socket = socket;
    if (this.destroyed) {
      socket.terminate();
      return;
    }
    socket.on("close", () => this.destroy());
    socket.on("error", (error) => this.destroy(error));
    socket.on("pong", () => {
      this.#missedPings = 0;
    });
    this.#pings = setInterval(() => this.#ping(socket), pingMs).unref();
  }

  #ping(socket: ExecSocket): void {
    this.#missedPings += 1;
    if (this.#missedPings > maxMissedPings)
      this.destroy(new Error("The connection to the pod does not respond."));
    else socket.ping();
  }

  override _read(): void {}

  override _write(chunk: Buffer, _: BufferEncoding, callback: (error?: Error | null) => void): void {
    if (!this.#socket) callback(new Error("The connection to the pod is not open."));
    else this.#socket.send(Buffer.concat([Buffer.from([channels.stdin]), chunk]), callback);
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.#socket?.send(Buffer.from([channels.close, channels.stdin]), () => callback());
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    clearInterval(this.#pings);
    this.#socket?.terminate();
    callback(error);
  }
}

function parseStatus(data: Buffer): V1Status {
  try {
    return JSON.parse(data.toString()) as V1Status;
  } catch {
    return { status: "Failure", message: "the cluster sent an invalid status" };
  }
}
