import type { Server } from "node:http";
import type { Socket } from "node:net";
import { networkOf } from "../../engine/limits/client-network.ts";

export interface ConnectionLimits {
  max: number;
  /** Applies to each IPv4 address and each IPv6 /64, the range that providers assign to one customer. */
  maxPerAddress: number;
  /** Exempts reverse proxies and this machine from `maxPerAddress`, because they connect on behalf of many clients. */
  isExempt(address: string): boolean;
}

interface Peer {
  count: number;
  /** The connection that has been idle longest comes first. */
  idle: Set<Socket>;
}

/**
 * Limits the number of open connections, in total and per address. When a limit is reached, the connection that has been
 * idle longest is closed in favor of the new one, so a client with thousands of idle connections cannot lock other
 * clients out. A connection with a request in progress is never closed.
 */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #peers = new Map<string, Peer>();
  readonly #idle = new Set<Socket>();
  /** Admitted sockets by remote endpoint. With TLS, a request has a different socket object with the same endpoint. */
  readonly #byEndpoint = new Map<string, { socket: Socket; peer: Peer }>();

  /** Counts idle connections that were closed in favor of new ones, and new connections that were refused. */
  readonly closed = { idle: 0, refused: 0 };

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#byEndpoint.size;
  }

  /** Returns true if the connection is within the limits. Otherwise closes it and returns false. */
  admit(socket: Socket): boolean {
    const { max, maxPerAddress, isExempt } = this.#limits;
    const address = socket.remoteAddress ?? "";
    const network = networkOf(address);
    const peer = this.#peers.get(network) ?? { count: 0, idle: new Set() };
    const isPeerFull = peer.count >= maxPerAddress && !isExempt(address);
    if (
      (isPeerFull && !this.#closeOldest(peer.idle)) ||
      (this.count >= max && !this.#closeOldest(this.#idle))
    ) {
      this.closed.refused++;
      socket.destroy();
      return false;
    }
    this.#peers.set(network, peer);
    peer.count++;
    const endpoint = endpointOf(socket);
    this.#byEndpoint.set(endpoint, { socket, peer });
    this.#markIdle(socket, peer);
    socket.once("close", () => {
      if (this.#byEndpoint.get(endpoint)?.socket === socket) this.#byEndpoint.delete(endpoint);
      this.#idle.delete(socket);
      peer.idle.delete(socket);
      if (--peer.count === 0) this.#peers.delete(network);
    });
    return true;
  }

  /** Starts to track which of the server's connections have a request in progress. */
  watch(server: Server) {
    server.on("request", ({ socket: requestSocket }, response) => {
      const admitted = this.#byEndpoint.get(endpointOf(requestSocket));
      if (!admitted) return;
      const { socket, peer } = admitted;
      this.#idle.delete(socket);
      peer.idle.delete(socket);
      response.once("close", () => !socket.destroyed && this.#markIdle(socket, peer));
    });
  }

  #markIdle(socket: Socket, peer: Peer) {
    this.#idle.add(socket);
    peer.idle.add(socket);
  }

  /** Closes the connection that has been idle longest. Returns false if none is idle. */
  #closeOldest(idle: Set<Socket>): boolean {
    for (const socket of idle) {
      idle.delete(socket);
      if (socket.destroyed) continue;
      this.closed.idle++;
      socket.destroy();
      return true;
    }
    return false;
  }
}

function endpointOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
