import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";

/**
 * A reverse proxy that can hold a request: before it reaches the target, or after the target has answered it. A test
 * kills a process while a request is held, and so chooses the step at which the process dies.
 */

export interface Step {
  method: string;
  /** Matches path and query. */
  path: RegExp;
  /** `after`: the request has taken effect, but its sender does not know the response. */
  when: "before" | "after";
}

export interface HeldRequest {
  /** Resolves when a request is held. */
  arrived: Promise<void>;
  /** Forwards the request or its response, if its sender still waits for it. */
  release(): void;
  /** Closes the connection to the sender. A request that was held before the target never reaches it. */
  drop(): void;
}

interface Hold extends Step {
  arrive(): void;
  decision: Promise<"release" | "drop">;
}

interface GateOptions {
  target: string;
  tls?: { key: string; cert: string };
}

export class Gate {
  /** Where requests are forwarded to. It can change at any time. */
  target: string;
  /** All requests, as `POST /path`. */
  readonly requests: string[] = [];
  /** The tokens and passwords that were sent. */
  readonly credentials = new Set<string>();
  readonly #tls: GateOptions["tls"];
  /** Requests of a target that has exited must not reuse its connections. */
  readonly #agent = new Agent({ keepAlive: false });
  #holds: Hold[] = [];
  #server: ReturnType<typeof createServer> | undefined;
  #port = 0;

  private constructor({ target, tls }: GateOptions) {
    this.target = target;
    this.#tls = tls;
  }

  static async open(options: GateOptions): Promise<Gate> {
    const gate = new Gate(options);
    await gate.open();
    return gate;
  }

  get url(): string {
    return `${this.#tls ? "https" : "http"}://127.0.0.1:${this.#port}`;
  }

  /** Listens, on the same port as before. */
  async open(): Promise<void> {
    const listener = (incoming: IncomingMessage, outgoing: ServerResponse) =>
      void this.#handle(incoming, outgoing).catch(() => outgoing.destroy());
    const server = this.#tls ? createTlsServer(this.#tls, listener) : createServer(listener);
    // Workers and git send large bodies, and servers keep streams open.
    server.requestTimeout = 0;
    server.listen(this.#port, "127.0.0.1");
    await once(server, "listening");
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Closes the port and all connections, as if the target were down. */
  async close(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    this.#server = undefined;
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  }

  /** Holds the next request that matches. */
  hold(step: Step): HeldRequest {
    const arrival = Promise.withResolvers<void>();
    const { promise, resolve } = Promise.withResolvers<"release" | "drop">();
    const hold: Hold = { ...step, decision: promise, arrive: () => arrival.resolve() };
    this.#holds.push(hold);
    const decide = (decision: "release" | "drop") => {
      this.#holds = this.#holds.filter((other) => other !== hold);
      resolve(decision);
    };
    return {
      arrived: arrival.promise,
      release: () => decide("release"),
      drop: () => decide("drop"),
    };
  }

  #takeHold(incoming: IncomingMessage): Hold | undefined {
    const found = this.#holds.find(
      ({ method, path }) => method === incoming.method && path.test(incoming.url ?? ""),
    );
    this.#holds = this.#holds.filter((other) => other !== found);
    return found;
  }

  async #handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    this.requests.push(`${incoming.method} ${incoming.url}`);
    const { authorization } = incoming.headers;
    if (authorization) this.credentials.add(credentialOf(authorization));
    incoming.on("error", () => {});
    outgoing.on("error", () => {});
    const hold = this.#takeHold(incoming);
    if (hold?.when === "before") {
      // Read completely, so that it can be forwarded after its sender has died.
      const body = await readAll(incoming);
      hold.arrive();
      if ((await hold.decision) === "drop") return void outgoing.destroy();
      return this.#forward(incoming, outgoing, { body });
    }
    await this.#forward(incoming, outgoing, { hold });
  }

  async #forward(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    { body, hold }: { body?: Buffer; hold?: Hold | undefined },
  ): Promise<void> {
    const { hostname, port } = new URL(this.target);
    const { "transfer-encoding": _, ...headers } = incoming.headers;
    const isKnownLength = headers["content-length"] !== undefined;
    const upstream = request({
      ...{ host: hostname, port, agent: this.#agent },
      ...{ method: incoming.method, path: incoming.url },
      headers: {
        ...headers,
        ...(body && !isKnownLength ? { "content-length": String(body.length) } : {}),
      },
    });
    upstream.on("error", () => outgoing.destroy());
    if (body) upstream.end(body);
    else incoming.pipe(upstream);
    // The target must learn that the sender has gone, for example from a stream of signals.
    if (!hold) outgoing.once("close", () => upstream.destroy());
    const [response] = (await once(upstream, "response")) as [IncomingMessage];
    response.on("error", () => outgoing.destroy());
    if (hold) {
      const content = await readAll(response);
      hold.arrive();
      if ((await hold.decision) === "drop") return void outgoing.destroy();
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      return void outgoing.end(content);
    }
    outgoing.writeHead(response.statusCode ?? 502, response.headers);
    outgoing.flushHeaders();
    response.pipe(outgoing);
  }
}

async function readAll(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Returns the token, or the password of Basic authentication. */
function credentialOf(authorization: string): string {
  const [scheme = "", value = ""] = authorization.split(" ");
  if (!/^basic$/i.test(scheme)) return value;
  return Buffer.from(value, "base64")
    .toString()
    .replace(/^[^:]*:/, "");
}
