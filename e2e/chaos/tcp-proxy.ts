import { once } from "node:events";
import { createServer, connect as dial, type NetConnectOpts, type Server, type Socket } from "node:net";

/**
 * `stalled` delays all data and keeps connections open, like a network that drops packets. `reset` closes connections, and
 * closes new ones as soon as they open.
 */
export type Disconnection = "stalled" | "reset";

interface Connection {
  client: Socket;
  upstream?: Socket;
}

/** A TCP proxy that forwards connections to a target and simulates network failures. */
export class TcpProxy {
  readonly port: number;
  readonly #listener: Server;
  readonly #connections = new Set<Connection>();
  #target: NetConnectOpts;
  #disconnection: Disconnection | undefined;

  private constructor(listener: Server, target: NetConnectOpts) {
    this.#listener = listener;
    this.#target = target;
    this.port = (listener.address() as { port: number }).port;
    listener.on("connection", (client) => this.#accept(client));
  }

  static async open(target: NetConnectOpts): Promise<TcpProxy> {
    const listener = createServer().listen(0, "127.0.0.1");
    await once(listener, "listening");
    return new TcpProxy(listener, target);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  disconnect(mode: Disconnection): void {
    this.#disconnection = mode;
    if (mode === "reset") this.#resetConnections();
    else for (const connection of this.#connections) stall(connection);
  }

  /** Ends the failure. Delayed data arrives late, as after a short outage. */
  restore(): void {
    this.#disconnection = undefined;
    for (const connection of this.#connections) this.#forward(connection);
  }

  /** Forwards to another target and resets the connections to the old one. */
  redirect(target: NetConnectOpts): void {
    this.#target = target;
    this.#resetConnections();
  }

  close(): void {
    this.#listener.close();
    this.#resetConnections();
  }

  #resetConnections(): void {
    for (const { client, upstream } of this.#connections) {
      client.resetAndDestroy();
      upstream?.destroy();
    }
  }

  #accept(client: Socket): void {
    const connection: Connection = { client };
    this.#connections.add(connection);
    this.#closeTogether(connection, client);
    if (this.#disconnection === "reset") client.resetAndDestroy();
    else if (this.#disconnection === undefined) this.#forward(connection);
    else stall(connection);
  }

  #forward(connection: Connection): void {
    if (!connection.upstream) {
      connection.upstream = dial(this.#target);
      this.#closeTogether(connection, connection.upstream);
    }
    connection.client.pipe(connection.upstream);
    connection.upstream.pipe(connection.client);
  }

  #closeTogether(connection: Connection, socket: Socket): void {
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#connections.delete(connection);
      connection.client.destroy();
      connection.upstream?.destroy();
    });
  }
}

function stall({ client, upstream }: Connection): void {
  client.unpipe();
  client.pause();
  upstream?.unpipe();
  upstream?.pause();
}
