import { connect, type Socket } from "node:net";

/** The connection options that the driver passes when it needs a socket. */
interface Target {
  host: string[];
  port: number[];
  path?: string | false;
}

/**
 * Tracks the sockets that are connected to one database, so that dead ones can be dropped. The driver (3.4.9) relies on
 * TCP timeouts, which take minutes while sending a statement and hours while waiting for its result.
 */
export class TrackedSockets {
  readonly #sockets = new Set<Socket>();
  #received = 0;
  #connects = 0;

  /**
   * Creates a socket for the driver. The socket may still be connecting, because the driver has its own timeout for the
   * first response.
   */
  readonly connect = ({ host, port, path }: Target): Socket => {
    this.#removeClosed();
    const index = this.#connects++ % host.length;
    const socket = path
      ? connect(path)
      : connect({ host: host[index] as string, port: port[index] as number });
    this.#sockets.add(socket);
    // The driver reads this property for the TLS server name.
    return Object.assign(socket, { host: host[index] });
  };

  /** The total number of bytes received so far, including on sockets that are now closed. */
  get received(): number {
    this.#removeClosed();
    return [...this.#sockets].reduce((sum, { bytesRead }) => sum + bytesRead, this.#received);
  }

  /**
   * Destroys all sockets that have received data and returns their number. The driver's own timeout ends the others.
   */
  destroyAll(): number {
    const open = [...this.#sockets].filter(({ bytesRead, destroyed }) => bytesRead > 0 && !destroyed);
    for (const socket of open) socket.destroy();
    this.#removeClosed();
    return open.length;
  }

  /** Polls for closed sockets, because the driver removes `close` listeners when it starts TLS. */
  #removeClosed() {
    for (const socket of this.#sockets) {
      if (!socket.destroyed) continue;
      this.#sockets.delete(socket);
      this.#received += socket.bytesRead;
    }
  }
}
