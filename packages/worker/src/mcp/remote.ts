import { Agent as HttpAgent, request as httpRequest, type RequestOptions } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect as tlsConnect } from "node:tls";
import type { HttpAnswer, HttpRequest, Send } from "@outrider/agent/mcp/http";
import { notReached } from "../egress/answer.ts";
import { createDial, type Dial } from "../egress/dial.ts";
import type { Exceptions } from "../egress/exceptions.ts";
import { RefusedError, UnreachableError } from "../egress/failures.ts";
import { hostOf, type Target, targetOf } from "../egress/host.ts";
import { fairLookup } from "../egress/lookup.ts";

const CONNECT_MS = 10_000;

export interface Remote {
  send: Send;
  /** Every connection is gone. */
  close(): void;
}

/**
 * HTTP from this worker to a server that a run's owner named. It reaches public addresses and what the operator allows;
 * over plain http, which anyone on the way can read and change, only the latter.
 */
export function openRemote({ exceptions, dial }: { exceptions: Exceptions; dial?: Dial }): Remote {
  const closing = new AbortController();
  const reach =
    dial ??
    createDial({
      policy: { mode: "open", allow: [] },
      exceptions,
      lookup: fairLookup(),
      timeoutMs: CONNECT_MS,
      signal: closing.signal,
    });
  const agents = { "http:": new PlainAgent(reach, exceptions), "https:": new TlsAgent(reach) };
  return {
    async send(request) {
      const { protocol, host } = request.url;
      const isTls = protocol === "https:";
      const target = targetOf(host, isTls ? 443 : 80);
      if (!target) throw new Error(`${host} is no host that can be reached.`);
      const start = isTls ? httpsRequest : httpRequest;
      const agent = isTls ? agents["https:"] : agents["http:"];
      try {
        return await answerTo((options) => start(request.url, { ...options, agent }), request);
      } catch (error) {
        request.signal.throwIfAborted();
        throw new Error(whyNot(target, error));
      }
    },
    close() {
      closing.abort();
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

function answerTo(
  start: (options: RequestOptions) => ReturnType<typeof httpRequest>,
  { method, headers, body, signal }: HttpRequest,
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const outgoing = start({ method, signal, headers: { ...headers, ...length } });
    outgoing.on("error", reject);
    outgoing.on("response", (incoming) => {
      // Whoever reads the body hears of its errors; one that nobody reads must not end the worker.
      incoming.on("error", () => {});
      const header = (name: string) => {
        const value = incoming.headers[name];
        return Array.isArray(value) ? value.join(", ") : value;
      };
      resolve({ status: incoming.statusCode ?? 0, header, body: incoming });
    });
    outgoing.end(body);
  });
}

function whyNot(target: Target, error: unknown): string {
  if (error instanceof RefusedError || error instanceof UnreachableError)
    return notReached(target, error).text;
  const { message, code } = error as NodeJS.ErrnoException;
  return `It cannot be called: ${message}${code && !message.includes(code) ? ` (${code})` : ""}.`;
}

type Connected = (error: Error | null, stream: Duplex) => void;

function targetOfOptions({ host, port }: RequestOptions): Target {
  return { host: hostOf(String(host).replace(/^\[|\]$/g, "")) ?? "", port: Number(port) };
}

/** Between two requests a connection has no listener of its own, and an error that nobody hears ends the worker. */
async function dialQuietly(dial: Dial, target: Target): Promise<Socket> {
  const socket = await dial(target);
  return socket.on("error", () => {});
}

class PlainAgent extends HttpAgent {
  private readonly dial: Dial;
  private readonly exceptions: Exceptions;

  constructor(dial: Dial, exceptions: Exceptions) {
    super({ keepAlive: true });
    this.dial = dial;
    this.exceptions = exceptions;
  }

  override createConnection(options: RequestOptions, connected: Connected): undefined {
    this.open(targetOfOptions(options)).then(
      (socket) => connected(null, socket),
      (error) => (connected as (error: Error) => void)(error),
    );
  }

  private async open(target: Target): Promise<Socket> {
    const socket = await dialQuietly(this.dial, target);
    const address = hostOf(socket.remoteAddress ?? "") ?? "";
    if (this.exceptions.covers({ ...target, address })) return socket;
    socket.destroy();
    throw new RefusedError({
      reason: "it would be reached over http, which anyone on the way can read and change",
      remedy: "Use its https address",
    });
  }
}

class TlsAgent extends HttpsAgent {
  private readonly dial: Dial;

  constructor(dial: Dial) {
    super({ keepAlive: true });
    this.dial = dial;
  }

  override createConnection(options: RequestOptions, connected: Connected): undefined {
    this.open(targetOfOptions(options)).then(
      (socket) => connected(null, socket),
      (error) => (connected as (error: Error) => void)(error),
    );
  }

  private async open(target: Target): Promise<Socket> {
    const socket = await dialQuietly(this.dial, target);
    const { host } = target;
    const name = isIP(host) ? {} : { servername: host };
    const secure = tlsConnect({ socket, host, ...name, ALPNProtocols: ["http/1.1"] });
    const { promise, resolve, reject } = Promise.withResolvers<Socket>();
    const timer = setTimeout(
      () => secure.destroy(new UnreachableError(504, "no connection in time")),
      CONNECT_MS,
    );
    secure.on("error", reject).once("secureConnect", () => resolve(secure));
    return await promise.finally(() => clearTimeout(timer));
  }
}
