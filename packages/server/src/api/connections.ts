import type { Server } from "node:http";
import type { Socket } from "node:net";
import { networkOf } from "../engine/networks.ts";

export interface ConnectionBounds {
  /** In all. */
  most: number;
  /** From one address, or one /64 of IPv6, which is what one customer gets. */
  mostEach: number;
  /** Proxies and this machine speak for many. */
  isExempt(address: string): boolean;
}

interface Peer {
  count: number;
  /** In the order in which they fell idle. */
  idle: Set<Socket>;
}

/**
 * How many connections there may be. Where there are too many, the one that has been idle longest makes room for the new
 * one, so that whoever opens thousands and says nothing keeps nobody out; one at work is never cut off for another.
 */
export class Connections {
  readonly #bounds: ConnectionBounds;
  readonly #peers = new Map<string, Peer>();
  readonly #idle = new Set<Socket>();
  /** Under TLS, a request knows its secure socket and not ours: both have the same other end. */
  readonly #byEnd = new Map<string, Socket>();

  /** How many were closed for others, or not taken. */
  readonly closed = { idle: 0, refused: 0 };

  constructor(bounds: ConnectionBounds) {
    this.#bounds = bounds;
  }

  get count(): number {
    return this.#byEnd.size;
  }

  /** Whether it may stay. One that may not is closed. */
  admit(socket: Socket): boolean {
    const { most, mostEach, isExempt } = this.#bounds;
    const address = socket.remoteAddress ?? "";
    const name = networkOf(address);
    const peer = this.#peers.get(name) ?? { count: 0, idle: new Set() };
    const isFull = peer.count >= mostEach && !isExempt(address);
    if ((isFull && !this.#drop(peer.idle)) || (this.count >= most && !this.#drop(this.#idle))) {
      this.closed.refused++;
      socket.destroy();
      return false;
    }
    this.#peers.set(name, peer);
    peer.count++;
    const end = endOf(socket);
    this.#byEnd.set(end, socket);
    this.#rest(socket, peer);
    socket.once("close", () => {
      if (this.#byEnd.get(end) === socket) this.#byEnd.delete(end);
      this.#idle.delete(socket);
      peer.idle.delete(socket);
      if (--peer.count === 0) this.#peers.delete(name);
    });
    return true;
  }

  /** From now on, notes which connections are at work. */
  watch(server: Server) {
    server.on("request", ({ socket: speaking }, response) => {
      const socket = this.#byEnd.get(endOf(speaking));
      const peer = socket && this.#peers.get(networkOf(socket.remoteAddress ?? ""));
      if (!socket || !peer) return;
      this.#idle.delete(socket);
      peer.idle.delete(socket);
      response.once("close", () => !socket.destroyed && this.#rest(socket, peer));
    });
  }

  #rest(socket: Socket, peer: Peer) {
    this.#idle.add(socket);
    peer.idle.add(socket);
  }

  /** Closes the first; false where there is none. */
  #drop(idle: Set<Socket>): boolean {
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

function endOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
