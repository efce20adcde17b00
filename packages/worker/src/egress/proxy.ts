/**
 * The HTTP proxy that is a sandbox's only route to the network. It serves a listener inside the sandbox's network
 * namespace; host-proxy.ts serves the same protocol to the worker's own programs.
 *
 * Protocol:
 * - `CONNECT host:port` opens a tunnel: after "200 Connection established", bytes pass unchanged in both directions.
 * - A request in absolute form (`GET http://host/path`) is parsed and sent as a new request on its own connection.
 * - Everything else gets a one-line text response and the connection is closed: 400 for an invalid target, 403 for a
 *   refused target, 407 without the credential, 501 for an unknown transfer encoding, 502 or 504 for an unreachable
 *   target, 503 above the connection limit.
 *
 * Invariants:
 * - Every outbound connection goes through `dial`, which checks the policy before DNS and connects only to an address
 *   that it has checked. The proxy never follows redirects.
 * - Client and proxy must agree on where a message ends. Requests that two parsers could read differently are rejected,
 *   and no response may be pending when a tunnel starts.
 * - One client can use at most `connections` connections in each direction. An internal error closes one connection and
 *   never crashes the worker.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type Server, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Log } from "../log.ts";
import { createDialer } from "./dial.ts";
import type { Exceptions } from "./exceptions.ts";
import { createFairLookup, type Lookup } from "./fair-lookup.ts";
import { forward, maxHeaderBytes, parseDestination } from "./forward.ts";
import { parseTarget, type Target } from "./host.ts";
import type { EgressPolicy } from "./policy.ts";
import { type EgressRefusal, RefusalReporter } from "./refusal-reporter.ts";
import {
  connectErrorResponse,
  type PlainResponse,
  parseErrorResponse,
  respond,
  respondOnSocket,
} from "./respond.ts";
import { joinStreams } from "./tunnel.ts";
import type { UpstreamProxy } from "./upstream-proxy.ts";
import { Upstreams } from "./upstreams.ts";

export interface EgressOptions {
  /** Accepts the clients' connections, in addition to `accept`. Closing the proxy also closes the listener. */
  listener?: Server;
  policy: EgressPolicy;
  exceptions: Exceptions;
  /** The company's proxy, through which connections are opened. */
  upstream?: UpstreamProxy | undefined;
  /** Called once for each host, port and reason. */
  onRefused(refusal: EgressRefusal): void;
  log: Log;
  /** Default: the system's resolver. */
  lookup?: Lookup;
  /** Default: accepts every client of the listener. */
  authorize?(request: IncomingMessage): boolean;
  limits?: Partial<typeof defaults>;
}

export interface Egress {
  /** Serves one connection of a client. */
  accept(client: Duplex): void;
  /** Connects a client to a target without any protocol of the proxy. A refused client is closed. */
  relay(client: Duplex, target: Target): Promise<void>;
  /** Returns the total bytes of all connections so far, from the sandbox's point of view. */
  bytes(): { sent: number; received: number };
  /** Makes refusals be reported again that have been reported before. */
  forgetRefusals(): void;
  /** Resolves when every connection is closed. */
  close(): Promise<void>;
}

const defaults = { connections: 256, connectMs: 10_000, idleMs: 15 * 60_000 };
const keepAliveMs = 60_000;
/**
 * Limits how many connections above the limit still get a response. Further connections are closed at once, because
 * each uses a file descriptor.
 */
const maxRejectedConnections = 64;
/** Limits how many pipelined requests a client may have pending. */
const maxPipelinedRequests = 16;

const badTarget = "This is an HTTP proxy. It accepts CONNECT host:port and requests for http://host/path.";
const badEncoding = "The proxy supports only the transfer encoding chunked.";
const tooManyConnections: PlainResponse = {
  status: 503,
  text: "Too many concurrent connections. Close some and try again.",
};
const credentialRequired: PlainResponse = {
  status: 407,
  text: "The proxy requires a credential.",
  headers: { "proxy-authenticate": 'Basic realm="outrider"' },
};

/** Serves the proxy to the connections of a listener and to those that are passed to `accept`. */
export function serveEgress(options: EgressOptions): Egress {
  const { listener, policy, exceptions, upstream, log, authorize = () => true } = options;
  const { lookup = createFairLookup() } = options;
  const { connections, connectMs, idleMs } = { ...defaults, ...options.limits };
  const closing = new AbortController();
  const clients = new Set<Duplex>();
  const pendingRequests = new WeakMap<Duplex, number>();
  const refusals = new RefusalReporter({ onRefused: options.onRefused, log });
  const { signal } = closing;
  const dialer = createDialer({ policy, exceptions, lookup, upstream, timeoutMs: connectMs, signal });
  const upstreams = new Upstreams({ dialer, max: connections });

  const server = createServer({
    insecureHTTPParser: false,
    maxHeaderSize: maxHeaderBytes,
    keepAliveTimeout: keepAliveMs,
    // Uploads may take any amount of time. `server.timeout` closes idle connections.
    requestTimeout: 0,
  });
  server.timeout = idleMs;
  // With a limit, Node silently drops excess headers, and one of them may be the body length.
  server.maxHeadersCount = 0;

  async function onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket: client, headers } = request;
    const pending = (pendingRequests.get(client) ?? 0) + 1;
    if (pending > maxPipelinedRequests) return void client.destroy();
    pendingRequests.set(client, pending);
    response.once("close", () => pendingRequests.set(client, (pendingRequests.get(client) ?? 1) - 1));
    response.on("error", () => {});
    if (!authorize(request)) return respond(response, credentialRequired);
    const destination = parseDestination(request.url ?? "");
    if (!destination) return respond(response, { status: 400, text: badTarget });
    const encoding = headers["transfer-encoding"]?.toLowerCase() ?? "chunked";
    if (encoding !== "chunked") return respond(response, { status: 501, text: badEncoding });
    if (upstreams.isFull) return respond(response, tooManyConnections);
    try {
      const connection = await upstreams.openForHttp(destination.target);
      if (response.destroyed) connection.socket.destroy();
      else forward({ ...destination, ...connection, request, response, idleMs });
    } catch (error) {
      refusals.report(destination.target, error);
      respond(response, connectErrorResponse(destination.target, error));
    }
  }

  async function onConnect(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    // A pending response would be written into the tunnel.
    if (pendingRequests.get(client)) return void client.destroy();
    if (!authorize(request)) return respondOnSocket(client, credentialRequired);
    const target = parseTarget(request.url ?? "");
    if (!target) return respondOnSocket(client, { status: 400, text: badTarget });
    if (upstreams.isFull) return respondOnSocket(client, tooManyConnections);
    try {
      const upstream = await upstreams.open(target);
      if (client.destroyed) return void upstream.destroy();
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      if (head.length > 0) upstream.write(head);
      joinStreams({ client, upstream, idleMs });
    } catch (error) {
      refusals.report(target, error);
      respondOnSocket(client, connectErrorResponse(target, error));
    }
  }

  async function relay(client: Duplex, target: Target): Promise<void> {
    if (!track(client) || upstreams.isFull) return void client.destroy();
    try {
      const upstream = await upstreams.open(target);
      if (client.destroyed) upstream.destroy();
      else joinStreams({ client, upstream, idleMs });
    } catch (error) {
      refusals.report(target, error);
      client.destroy();
    }
  }

  /** Handles bugs in the proxy. They must close one connection and not crash the worker. */
  const closeOnError = (client: Duplex) => (error: unknown) => {
    log.warn({ error }, "egress proxy connection failed");
    client.destroy();
  };
  server.on("request", (request, response) => {
    onRequest(request, response).catch(closeOnError(request.socket));
  });
  server.on("connect", (request, client: Duplex, head) => {
    onConnect(request, client, head).catch(closeOnError(client));
  });
  server.on("clientError", ({ code }: NodeJS.ErrnoException, client: Duplex) => {
    // The bytes after a parse error cause further errors, which need no response.
    if (client.writableEnded) return;
    if (pendingRequests.get(client) || !client.writable) client.destroy();
    else respondOnSocket(client, parseErrorResponse(code));
  });

  /** Remembers an open client. Returns whether there are few enough. */
  function track(client: Duplex): boolean {
    client.on("error", () => {});
    clients.add(client);
    client.once("close", () => clients.delete(client));
    return clients.size <= connections;
  }

  function accept(client: Duplex): void {
    if (closing.signal.aborted || clients.size >= connections + maxRejectedConnections)
      return void client.destroy();
    // A tunnel's client may close its sending side first. The listener was created without this option.
    if (client instanceof Socket) client.allowHalfOpen = true;
    if (track(client)) server.emit("connection", client);
    else respondOnSocket(client, tooManyConnections);
  }
  if (listener) {
    listener.maxConnections = connections + maxRejectedConnections;
    listener.on("connection", accept);
  }

  return {
    accept,
    relay,
    bytes: () => upstreams.bytes(),
    forgetRefusals: () => refusals.forget(),
    async close() {
      closing.abort();
      const closed = new Promise<unknown>((resolve) =>
        listener ? listener.close(resolve) : resolve(undefined),
      );
      for (const client of clients) client.destroy();
      await Promise.all([closed, upstreams.close()]);
      listener?.off("connection", accept);
      server.close();
    },
  };
}
