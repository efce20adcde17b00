/**
 * An HTTP server for the processes in a run's sandbox. It has no port on the worker's machine: the sandbox's provider
 * hands over each connection to 127.0.0.1 in the sandbox.
 *
 * Invariants:
 * - Every client is hostile. Connections, headers, pipelined requests and the time for each are limited.
 * - A request ends when its client goes away or the server closes.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { parseErrorResponse, respondOnSocket } from "../egress/respond.ts";
import { ConnectionTimers } from "./connection-timers.ts";

/** The reason for ending a request whose connection is closed. Creating one per request takes time. */
const clientIsGone = new Error("The client has closed its connection.");

export interface SandboxServerLimits {
  connections: number;
  headerBytes: number;
  /** The number of requests that a connection may send before the first is answered. */
  pipelinedRequests: number;
  /** How long the first request may take to arrive. */
  requestMs: number;
  /** How long a connection may wait for its next request. */
  idleMs: number;
}

export interface SandboxServerOptions {
  limits: SandboxServerLimits;
  /** Answers a request. `gone` aborts when nobody waits for the answer. A rejection closes the connection. */
  handle(request: IncomingMessage, response: ServerResponse, gone: AbortSignal): Promise<void>;
  /** Aborts when the execution ends. */
  signal: AbortSignal;
}

export class SandboxServer {
  readonly #options: SandboxServerOptions;
  readonly #server: Server;
  readonly #connections = new Set<Duplex>();
  readonly #timers = new ConnectionTimers();
  readonly #requests = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  constructor(options: SandboxServerOptions) {
    this.#options = options;
    const { limits, signal } = options;
    this.#server = createServer({
      insecureHTTPParser: false,
      maxHeaderSize: limits.headerBytes,
      keepAliveTimeout: limits.idleMs,
    });
    this.#server.on("request", (request, response) => this.#onRequest(request, response));
    this.#server.on("clientError", ({ code }: NodeJS.ErrnoException, client: Duplex) => {
      if (client.writable && this.#timers.countRequests(client) === 0)
        respondOnSocket(client, parseErrorResponse(code));
      else client.destroy();
    });
    const close = () => void this.close();
    if (signal.aborted) close();
    else signal.addEventListener("abort", close, { once: true });
    this.#closing.signal.addEventListener("abort", () => signal.removeEventListener("abort", close));
  }

  /** Serves one connection from the sandbox. */
  readonly accept = (connection: Duplex): void => {
    const { connections, requestMs } = this.#options.limits;
    connection.on("error", () => {});
    if (this.#closing.signal.aborted || this.#connections.size >= connections) {
      connection.destroy();
      return;
    }
    this.#connections.add(connection);
    connection.once("close", () => {
      this.#connections.delete(connection);
      this.#timers.stop(connection);
    });
    this.#timers.start(connection, requestMs);
    this.#server.emit("connection", connection);
  };

  /** Aborts everything under way and closes all connections. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const connection of this.#connections) connection.destroy();
    this.#server.close();
    await Promise.all(this.#requests);
  }

  #onRequest(request: IncomingMessage, response: ServerResponse) {
    const { limits, handle } = this.#options;
    const { socket } = request;
    response.on("error", () => {});
    if (this.#timers.begin(socket) > limits.pipelinedRequests) {
      socket.destroy();
      return;
    }
    const gone = new AbortController();
    response.once("close", () => {
      gone.abort(clientIsGone);
      this.#timers.end(socket, limits.idleMs);
    });
    const handled = handle(request, response, gone.signal)
      .catch(() => void response.destroy())
      .finally(() => this.#requests.delete(handled));
    this.#requests.add(handled);
  }
}
