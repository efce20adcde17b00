import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Server, Socket } from "node:net";
import type { Log } from "../sandboxes/sandbox.ts";
import { answerRequest, answerSocket, notReached, type PlainAnswer, unreadable } from "./answer.ts";
import { createDial } from "./dial.ts";
import type { Exceptions } from "./exceptions.ts";
import { destinationOf, forward, maxHeaderBytes } from "./forward.ts";
import { targetOf } from "./host.ts";
import { fairLookup, type Lookup } from "./lookup.ts";
import type { EgressPolicy } from "./policy.ts";
import { type Refusal, Refusals } from "./refusals.ts";
import { join } from "./tunnel.ts";
import { Upstreams } from "./upstreams.ts";

export interface EgressOptions {
  /** Where the sandbox connects to. It is closed with the proxy. */
  listener: Server;
  policy: EgressPolicy;
  exceptions: Exceptions;
  /** Called once for each host, port and reason. */
  refused(refusal: Refusal): void;
  log: Log;
  /** The system's resolver by default. */
  lookup?: Lookup;
  /** Everyone who reaches the listener by default. */
  authorize?(request: IncomingMessage): boolean;
  limits?: Partial<typeof defaults>;
}

export interface Egress {
  /** Through all connections so far, as the sandbox sees it. */
  bytes(): { sent: number; received: number };
  /** Every connection is gone when it resolves. */
  close(): Promise<void>;
}

const defaults = { connections: 256, connectMs: 10_000, idleMs: 15 * 60_000 };
const keepAliveMs = 60_000;
/** How many connections above the limit are told so; more are closed without a word, as each holds a file of ours. */
const mostTurnedAway = 64;
/** Requests that a client may send ahead of their answers. */
const mostAhead = 16;

const badTarget = "This is an HTTP proxy: it takes CONNECT host:port and requests for http://host/path.";
const badEncoding = "The only transfer encoding that this proxy knows is chunked.";
const full: PlainAnswer = { status: 503, text: "Too many connections at once. Close some and try again." };
const unknownClient: PlainAnswer = {
  status: 407,
  text: "This proxy wants a credential.",
  headers: { "proxy-authenticate": 'Basic realm="outrider"' },
};

/** An HTTP proxy on a listener, which lets through what the policy allows. It never follows a redirect by itself. */
export function serveEgress(options: EgressOptions): Egress {
  const { listener, policy, exceptions, log, authorize = () => true, lookup = fairLookup() } = options;
  const { connections, connectMs, idleMs } = { ...defaults, ...options.limits };
  const closing = new AbortController();
  const clients = new Set<Socket>();
  const ahead = new WeakMap<Socket, number>();
  const refusals = new Refusals({ refused: options.refused, log });
  const dial = createDial({ policy, exceptions, lookup, timeoutMs: connectMs, signal: closing.signal });
  const upstreams = new Upstreams({ dial, most: connections });

  const server = createServer({
    insecureHTTPParser: false,
    maxHeaderSize: maxHeaderBytes,
    keepAliveTimeout: keepAliveMs,
    // Uploads take as long as they take; a connection on which nothing moves is closed.
    requestTimeout: 0,
  });
  server.timeout = idleMs;
  // Beyond this number Node drops headers in silence, and one of them may say how long the body is.
  server.maxHeadersCount = 0;

  async function onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket: client, headers } = request;
    const waiting = (ahead.get(client) ?? 0) + 1;
    if (waiting > mostAhead) return void client.destroy();
    ahead.set(client, waiting);
    response.once("close", () => ahead.set(client, (ahead.get(client) ?? 1) - 1));
    response.on("error", () => {});
    if (!authorize(request)) return answerRequest(response, unknownClient);
    const destination = destinationOf(request.url ?? "");
    if (!destination) return answerRequest(response, { status: 400, text: badTarget });
    const encoding = headers["transfer-encoding"]?.toLowerCase() ?? "chunked";
    if (encoding !== "chunked") return answerRequest(response, { status: 501, text: badEncoding });
    if (upstreams.isFull) return answerRequest(response, full);
    try {
      const socket = await upstreams.open(destination.target);
      if (response.destroyed) socket.destroy();
      else forward({ ...destination, request, response, socket, idleMs });
    } catch (error) {
      refusals.note(destination.target, error);
      answerRequest(response, notReached(destination.target, error));
    }
  }

  async function onConnect(request: IncomingMessage, client: Socket, head: Buffer): Promise<void> {
    // An answer that is still under way would end up in the middle of the tunnel.
    if (ahead.get(client)) return void client.destroy();
    if (!authorize(request)) return answerSocket(client, unknownClient);
    const target = targetOf(request.url ?? "");
    if (!target) return answerSocket(client, { status: 400, text: badTarget });
    if (upstreams.isFull) return answerSocket(client, full);
    try {
      const upstream = await upstreams.open(target);
      if (client.destroyed) return void upstream.destroy();
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      if (head.length > 0) upstream.write(head);
      join({ client, upstream, idleMs });
    } catch (error) {
      refusals.note(target, error);
      answerSocket(client, notReached(target, error));
    }
  }

  /** Only a mistake of ours comes here. It must cost one connection and not the worker. */
  const orEnd = (client: Socket) => (error: unknown) => {
    log.warn({ error }, "the egress proxy failed on a connection");
    client.destroy();
  };
  server.on("request", (request, response) => {
    onRequest(request, response).catch(orEnd(request.socket));
  });
  server.on("connect", (request, client: Socket, head) => {
    onConnect(request, client, head).catch(orEnd(client));
  });
  server.on("clientError", ({ code }: NodeJS.ErrnoException, client: Socket) => {
    // What follows the first unreadable bytes is as unreadable, and comes here too.
    if (client.writableEnded) return;
    if (ahead.get(client) || !client.writable) client.destroy();
    else answerSocket(client, unreadable(code));
  });

  function accept(client: Socket): void {
    client.on("error", () => {});
    clients.add(client);
    client.once("close", () => clients.delete(client));
    // The listener decided otherwise, not knowing that a tunnel's client may end its half first.
    client.allowHalfOpen = true;
    if (clients.size > connections) answerSocket(client, full);
    else server.emit("connection", client);
  }
  listener.maxConnections = connections + mostTurnedAway;
  listener.on("connection", accept);

  return {
    bytes: () => upstreams.bytes(),
    async close() {
      closing.abort();
      const closed = new Promise((resolve) => listener.close(resolve));
      for (const client of clients) client.destroy();
      await Promise.all([closed, upstreams.close()]);
      listener.off("connection", accept);
      server.close();
    },
  };
}
