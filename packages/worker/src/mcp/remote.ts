import { Agent as HttpAgent, request as httpRequest, type RequestOptions } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { isIP, type Socket } from "node:net";
import { type Duplex, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { connect as tlsConnect } from "node:tls";
import type { HttpRequest, HttpResponse } from "@outrider/agent/mcp/http";
import { outgoingTraceHeaders } from "@outrider/telemetry/spans";
import { createDial, type Dial } from "../egress/dial.ts";
import { RefusedError, UnreachableError } from "../egress/egress-errors.ts";
import type { Exceptions } from "../egress/exceptions.ts";
import { createFairLookup } from "../egress/fair-lookup.ts";
import { normalizeHost, parseTarget, type Target } from "../egress/host.ts";
import { connectErrorResponse } from "../egress/respond.ts";
import { isTunnel, type UpstreamProxy } from "../egress/upstream-proxy.ts";

const CONNECT_MS = 10_000;

/** A body that is a stream needs a `content-length`, and is destroyed if it is not read to its end. */
export interface RemoteRequest extends Omit<HttpRequest, "method" | "body"> {
  method: HttpRequest["method"] | "PATCH" | "PUT";
  body?: string | Readable;
}

export interface Remote {
  send(request: RemoteRequest): Promise<HttpResponse>;
  /** Closes all connections. */
  close(): void;
}

interface RemoteOptions {
  exceptions: Exceptions;
  /** The company's proxy. Not used with `dial`. */
  upstream?: UpstreamProxy | undefined;
  /** Default: reaches all public addresses. */
  dial?: Dial;
  /** For requests without secrets. */
  allowsPlainHttp?: boolean;
}

/**
 * Opens an HTTP client for the MCP servers that a run's owner configured. The worker itself sends the requests, so the
 * client must not give access to the private network (SSRF): it reaches only public addresses and those that the
 * operator allows. Plain HTTP can be read and changed in transit, so it is restricted to the addresses that the
 * operator allows.
 */
export function openRemote({ exceptions, upstream, dial, allowsPlainHttp = false }: RemoteOptions): Remote {
  const closing = new AbortController();
  const connect =
    dial ??
    createDial({
      policy: { mode: "open", allow: [] },
      exceptions,
      upstream,
      lookup: createFairLookup(),
      timeoutMs: CONNECT_MS,
      signal: closing.signal,
    });
  const plainExceptions = allowsPlainHttp ? { covers: () => true } : exceptions;
  const agents = { "http:": new PlainAgent(connect, plainExceptions), "https:": new TlsAgent(connect) };
  return {
    async send(request) {
      const { protocol, host } = request.url;
      const isTls = protocol === "https:";
      const target = parseTarget(host, isTls ? 443 : 80);
      if (!target) throw new Error(`${host} is not a valid host.`);
      const startRequest = isTls ? httpsRequest : httpRequest;
      const agent = isTls ? agents["https:"] : agents["http:"];
      try {
        const headers = { ...request.headers, ...outgoingTraceHeaders(request.url) };
        return await sendRequest((options) => startRequest(request.url, { ...options, agent }), {
          ...request,
          headers,
        });
      } catch (error) {
        request.signal.throwIfAborted();
        throw new Error(explainError(target, error), { cause: error });
      }
    },
    close() {
      closing.abort();
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

function sendRequest(
  start: (options: RequestOptions) => ReturnType<typeof httpRequest>,
  { method, headers, body, signal }: RemoteRequest,
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const length = typeof body === "string" ? { "content-length": String(Buffer.byteLength(body)) } : {};
    const outgoing = start({ method, signal, headers: { ...headers, ...length } });
    outgoing.on("error", reject);
    outgoing.on("response", (incoming) => {
      // The body's reader also receives its errors. Without this handler, an error in an unread body would crash the
      // worker.
      incoming.on("error", () => {});
      const header = (name: string) => {
        const value = incoming.headers[name];
        return Array.isArray(value) ? value.join(", ") : value;
      };
      resolve({ status: incoming.statusCode ?? 0, header, body: incoming });
    });
    if (body instanceof Readable)
      pipeline(body, outgoing).catch((error) => {
        // A request that fails before it has a connection does not report it.
        reject(error);
        outgoing.destroy(error);
      });
    else outgoing.end(body);
  });
}

function explainError(target: Target, error: unknown): string {
  if (error instanceof RefusedError || error instanceof UnreachableError)
    return connectErrorResponse(target, error).text;
  const { message, code } = error as NodeJS.ErrnoException;
  return `Request failed: ${message}${code && !message.includes(code) ? ` (${code})` : ""}.`;
}

type Connected = (error: Error | null, stream: Duplex) => void;

function targetFromOptions({ host, port }: RequestOptions): Target {
  return { host: normalizeHost(String(host).replace(/^\[|\]$/g, "")) ?? "", port: Number(port) };
}

/**
 * Dials and adds an error handler. An idle keep-alive connection has none, and an unhandled error would crash the
 * worker.
 */
async function dialWithErrorHandler(dial: Dial, target: Target): Promise<Socket> {
  const socket = await dial(target);
  return socket.on("error", () => {});
}

class PlainAgent extends HttpAgent {
  readonly #dial: Dial;
  readonly #exceptions: Pick<Exceptions, "covers">;

  constructor(dial: Dial, exceptions: Pick<Exceptions, "covers">) {
    super({ keepAlive: true });
    this.#dial = dial;
    this.#exceptions = exceptions;
  }

  override createConnection(options: RequestOptions, connected: Connected): undefined {
    this.#open(targetFromOptions(options)).then(
      (socket) => connected(null, socket),
      (error) => (connected as (error: Error) => void)(error),
    );
  }

  async #open(target: Target): Promise<Socket> {
    const socket = await dialWithErrorHandler(this.#dial, target);
    // A tunnel's remote address is that of the upstream proxy, which says nothing about the target.
    const address = isTunnel(socket) ? "" : (normalizeHost(socket.remoteAddress ?? "") ?? "");
    if (this.#exceptions.covers({ ...target, address })) return socket;
    socket.destroy();
    throw new RefusedError({
      reason: "plain http can be read and changed in transit",
      remedy: "Use its https URL",
    });
  }
}

class TlsAgent extends HttpsAgent {
  readonly #dial: Dial;

  constructor(dial: Dial) {
    super({ keepAlive: true });
    this.#dial = dial;
  }

  override createConnection(options: RequestOptions, connected: Connected): undefined {
    this.#open(targetFromOptions(options)).then(
      (socket) => connected(null, socket),
      (error) => (connected as (error: Error) => void)(error),
    );
  }

  async #open(target: Target): Promise<Socket> {
    const socket = await dialWithErrorHandler(this.#dial, target);
    const { host } = target;
    const name = isIP(host) ? {} : { servername: host };
    const secure = tlsConnect({ socket, host, ...name, ALPNProtocols: ["http/1.1"] });
    const { promise, resolve, reject } = Promise.withResolvers<Socket>();
    const timer = setTimeout(
      () => secure.destroy(new UnreachableError(504, "the connection timed out")),
      CONNECT_MS,
    );
    secure.on("error", reject).once("secureConnect", () => resolve(secure));
    return await promise.finally(() => clearTimeout(timer));
  }
}
