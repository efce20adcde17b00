import { connect, type Socket } from "node:net";

/** What the driver knows when it wants a socket. */
interface Target {
  host: string[];
  port: number[];
  path?: string | false;
}

/**
 * The connections to one database, so that those on which nothing comes any more can be dropped. The driver (3.4.9) waits for
 * an answer as long as TCP does, which is minutes where a statement is on its way and hours where its answer is.
 */
export class Lines {
  readonly #sockets = new Set<Socket>();
  #received = 0;
  #dialled = 0;

  /** Makes the driver's sockets. It writes at once and sets a bound to its first answer, so one that still connects will do. */
  readonly dial = ({ host, port, path }: Target): Socket => {
    this.#forgetGone();
    const at = this.#dialled++ % host.length;
    const socket = path ? connect(path) : connect({ host: host[at] as string, port: port[at] as number });
    this.#sockets.add(socket);
    // By this name the driver asks for a certificate.
    return Object.assign(socket, { host: host[at] });
  };

  /** Bytes that ever came, on all of them. */
  get received(): number {
    this.#forgetGone();
    return [...this.#sockets].reduce((sum, { bytesRead }) => sum + bytesRead, this.#received);
  }

  /** Drops all that ever brought anything, and answers how many. The others are the driver's to give up. */
  cut(): number {
    const open = [...this.#sockets].filter(({ bytesRead, destroyed }) => bytesRead > 0 && !destroyed);
    for (const socket of open) socket.destroy();
    this.#forgetGone();
    return open.length;
  }

  /** The driver takes away who listens for the end of a socket on which it begins to speak TLS: so they are looked at. */
  #forgetGone() {
    for (const socket of this.#sockets) {
      if (!socket.destroyed) continue;
      this.#sockets.delete(socket);
      this.#received += socket.bytesRead;
    }
  }
}
