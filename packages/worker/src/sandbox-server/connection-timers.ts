import type { Duplex } from "node:stream";

/**
 * Closes connections that wait too long for a request. Node has such timeouts only for servers that listen on a port.
 */
export class ConnectionTimers {
  readonly #timers = new WeakMap<Duplex, NodeJS.Timeout>();
  readonly #requests = new WeakMap<Duplex, number>();

  /** Closes the connection after this time, unless a request arrives. */
  start(connection: Duplex, ms: number): void {
    this.stop(connection);
    this.#timers.set(
      connection,
      setTimeout(() => connection.destroy(), ms),
    );
  }

  stop(connection: Duplex): void {
    clearTimeout(this.#timers.get(connection));
  }

  /** Notes that a request has arrived. Returns how many are under way. */
  begin(connection: Duplex): number {
    this.stop(connection);
    const count = this.countRequests(connection) + 1;
    this.#requests.set(connection, count);
    return count;
  }

  /** Notes that a request has been answered. The next one must arrive in this time. */
  end(connection: Duplex, ms: number): void {
    const count = this.countRequests(connection) - 1;
    this.#requests.set(connection, count);
    if (count === 0 && !connection.destroyed) this.start(connection, ms);
  }

  /** Returns the number of requests under way. */
  countRequests(connection: Duplex): number {
    return this.#requests.get(connection) ?? 0;
  }
}
