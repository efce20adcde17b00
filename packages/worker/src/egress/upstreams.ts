import { once } from "node:events";
import type { Socket } from "node:net";
import type { Dialer, HttpConnection } from "./dial.ts";
import type { Target } from "./host.ts";

/** Limits a proxy's outbound connections, counts their bytes and closes them. */
export class Upstreams {
  readonly #dialer: Dialer;
  readonly #max: number;
  readonly #sockets = new Set<Socket>();
  #dialing = 0;
  #sent = 0;
  #received = 0;

  constructor({ dialer, max }: { dialer: Dialer; max: number }) {
    this.#dialer = dialer;
    this.#max = max;
  }

  get isFull(): boolean {
    return this.#sockets.size + this.#dialing >= this.#max;
  }

  async open(target: Target): Promise<Socket> {
    const { socket } = await this.#track(async () => ({ socket: await this.#dialer.dial(target) }));
    return socket;
  }

  openForHttp(target: Target): Promise<HttpConnection> {
    return this.#track(() => this.#dialer.dialForHttp(target));
  }

  async #track(dial: () => Promise<HttpConnection>): Promise<HttpConnection> {
    this.#dialing++;
    try {
      const connection = await dial();
      const { socket } = connection;
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.once("close", () => {
        this.#sockets.delete(socket);
        this.#sent += socket.bytesWritten;
        this.#received += socket.bytesRead;
      });
      return connection;
    } finally {
      this.#dialing--;
    }
  }

  bytes(): { sent: number; received: number } {
    let [sent, received] = [this.#sent, this.#received];
    for (const socket of this.#sockets) {
      sent += socket.bytesWritten;
      received += socket.bytesRead;
    }
    return { sent, received };
  }

  async close(): Promise<void> {
    const open = [...this.#sockets];
    await Promise.all(
      open.map((socket) => {
        const closed = socket.closed ? undefined : once(socket, "close");
        socket.destroy();
        return closed;
      }),
    );
  }
}
