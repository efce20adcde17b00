import { once } from "node:events";
import type { Socket } from "node:net";
import type { Dial } from "./dial.ts";
import type { Target } from "./host.ts";

/** Limits a proxy's outbound connections, counts their bytes and closes them. */
export class Upstreams {
  readonly #dial: Dial;
  readonly #max: number;
  readonly #sockets = new Set<Socket>();
  #dialing = 0;
  #sent = 0;
  #received = 0;

  constructor({ dial, max }: { dial: Dial; max: number }) {
    this.#dial = dial;
    this.#max = max;
  }

  get isFull(): boolean {
    return this.#sockets.size + this.#dialing >= this.#max;
  }

  async open(target: Target): Promise<Socket> {
    this.#dialing++;
    try {
      const socket = await this.#dial(target);
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.once("close", () => {
        this.#sockets.delete(socket);
        this.#sent += socket.bytesWritten;
        this.#received += socket.bytesRead;
      });
      return socket;
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
