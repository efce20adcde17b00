/**
 * The HTTP server to which `git push` in a run's sandbox connects. It speaks git's smart HTTP protocol.
 *
 * It has no port on the worker's machine: the sandbox's provider hands over each connection to 127.0.0.1 in the sandbox.
 * It needs no credential and has none: a push only asks the worker to publish commits, which are checked like all others
 * (see publish-changes.ts).
 *
 * Invariants:
 * - Every client is hostile. Connections, headers, requests and the time for each are limited.
 * - Only the run's branch of a repository that the run may publish can be pushed. Nothing can be fetched.
 * - At most one push is under way, so that the pushes of a sandbox use little of the worker's disk and processor time.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { parseErrorResponse, respondOnSocket } from "../egress/respond.ts";
import { ConnectionTimers } from "../gateway/connection-timers.ts";
import { type AdvertisedBranch, advertise, errorLine, refuseService } from "./receive-pack/advertisement.ts";
import { ProtocolError } from "./receive-pack/protocol-error.ts";
import { type PushResult, type ReceivedPush, receivePush } from "./receive-pack/receive-push.ts";

const MAX_CONNECTIONS = 16;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_PIPELINED_REQUESTS = 4;
/** How long a connection may wait for its next request. */
const IDLE_MS = 30_000;
/** How long a push may take, with its checks and the wait for its result. */
const PUSH_MS = 10 * 60_000;

/** A repository whose branch can be pushed. */
export interface PushTarget extends AdvertisedBranch {
  /** Relative to /workspace. */
  path: string;
}

export interface GitEndpointOptions {
  /** Returns the repositories with their current branches. */
  listTargets(): PushTarget[];
  publish(push: ReceivedPush & { path: string; signal: AbortSignal }): Promise<PushResult>;
  /** Masks secrets in what goes back to the sandbox. */
  redact(text: string): string;
  /** Aborts when the execution ends. */
  signal: AbortSignal;
}

export class GitEndpoint {
  readonly #options: GitEndpointOptions;
  readonly #server = createServer({ insecureHTTPParser: false, maxHeaderSize: MAX_HEADER_BYTES });
  readonly #connections = new Set<Duplex>();
  readonly #timers = new ConnectionTimers();
  readonly #closing = new AbortController();
  readonly #requests = new Set<Promise<void>>();
  #isPushing = false;

  constructor(options: GitEndpointOptions) {
    this.#options = options;
    this.#server.on("request", (request, response) => this.#onRequest(request, response));
    this.#server.on("clientError", ({ code }: NodeJS.ErrnoException, client: Duplex) => {
      if (client.writable && this.#timers.countRequests(client) === 0)
        respondOnSocket(client, parseErrorResponse(code));
      else client.destroy();
    });
    const close = () => void this.close();
    if (options.signal.aborted) close();
    else options.signal.addEventListener("abort", close, { once: true });
    this.#closing.signal.addEventListener("abort", () => options.signal.removeEventListener("abort", close));
  }

  /** Serves one connection from the sandbox. */
  readonly accept = (connection: Duplex): void => {
    connection.on("error", () => {});
    if (this.#closing.signal.aborted || this.#connections.size >= MAX_CONNECTIONS) {
      connection.destroy();
      return;
    }
    this.#connections.add(connection);
    connection.once("close", () => {
      this.#connections.delete(connection);
      this.#timers.stop(connection);
    });
    this.#timers.start(connection, IDLE_MS);
    this.#server.emit("connection", connection);
  };

  /** Aborts a push under way and closes all connections. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const connection of this.#connections) connection.destroy();
    this.#server.close();
    await Promise.all(this.#requests);
  }

  #onRequest(request: IncomingMessage, response: ServerResponse) {
    const { socket } = request;
    response.on("error", () => {});
    if (this.#timers.begin(socket) > MAX_PIPELINED_REQUESTS) {
      socket.destroy();
      return;
    }
    response.once("close", () => this.#timers.end(socket, IDLE_MS));
    const handled = this.#handle(request, response)
      .catch(() => void response.destroy())
      .finally(() => this.#requests.delete(handled));
    this.#requests.add(handled);
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const route = parseRoute(request);
    if (!route) return sendText(response, 404, "Only `git push` can be used here.");
    const { path, type, service } = route;
    const targets = this.#options.listTargets();
    const target = targets.find((each) => each.path === path || `${each.path}.git` === path);
    if (type === "refs") {
      const problem = problemOf(service, { path, targets, target });
      const body = problem ? refuseService(service, problem) : advertise(target as PushTarget);
      return sendResult(response, `application/x-${service}-advertisement`, body);
    }
    if (!target) return sendText(response, 404, unknownRepository(path, targets));
    if (request.headers["content-encoding"] !== undefined)
      return sendText(response, 415, "Compressed requests are not supported.");
    if (this.#isPushing) return sendText(response, 503, "Another push is in progress. Try again later.");
    this.#isPushing = true;
    try {
      await this.#receive(target, request, response);
    } finally {
      this.#isPushing = false;
    }
  }

  async #receive(target: PushTarget, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { path, branch } = target;
    const { publish, redact } = this.#options;
    const gone = new AbortController();
    const timer = setTimeout(() => response.destroy(), PUSH_MS);
    response.once("close", () => {
      clearTimeout(timer);
      gone.abort();
    });
    const signal = AbortSignal.any([this.#closing.signal, gone.signal]);
    response.writeHead(200, { "content-type": resultType, "cache-control": "no-cache" });
    const body = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
    try {
      await receivePush(body, response, {
        branch,
        async publish(push) {
          const onProgress = (message: string) => push.onProgress(redact(message));
          const { messages, ...result } = await publish({ ...push, onProgress, path, signal });
          return { ...result, messages: messages.map(redact) };
        },
      });
      response.end();
    } catch (error) {
      // Without the end of the response, git reports that the remote hung up.
      if (!(error instanceof ProtocolError)) throw error;
      response.end(errorLine(error.message));
    }
  }
}

const resultType = "application/x-git-receive-pack-result";

interface Route {
  path: string;
  type: "refs" | "push";
  service: string;
}

function parseRoute({ method, url = "" }: IncomingMessage): Route | undefined {
  const [pathname = "", query = ""] = url.split("?");
  const path = decodePath(pathname);
  if (path === undefined) return undefined;
  if (method === "GET" && path.endsWith("/info/refs")) {
    const service = new URLSearchParams(query).get("service") ?? "";
    if (!/^git-(receive|upload)-pack$/.test(service)) return undefined;
    return { path: cleanPath(path, "/info/refs"), type: "refs", service };
  }
  if (method !== "POST" || !path.endsWith("/git-receive-pack")) return undefined;
  return { path: cleanPath(path, "/git-receive-pack"), type: "push", service: "git-receive-pack" };
}

const cleanPath = (path: string, end: string) => path.slice(0, -end.length).replace(/^\/+|\/+$/g, "") || ".";

function decodePath(pathname: string): string | undefined {
  try {
    return decodeURIComponent(pathname);
  } catch {
    return undefined;
  }
}

function problemOf(
  service: string,
  { path, targets, target }: { path: string; targets: PushTarget[]; target: PushTarget | undefined },
): string | undefined {
  if (service === "git-upload-pack") return "Nothing can be fetched here. Fetch from the URL of `origin`.";
  return target ? undefined : unknownRepository(path, targets);
}

function unknownRepository(path: string, targets: PushTarget[]): string {
  const name = JSON.stringify(path.slice(0, 200));
  const names = targets.map((each) => each.path).join(", ");
  return `This run cannot push to the repository ${name}. It can push to: ${names || "none"}.`;
}

function sendResult(response: ServerResponse, type: string, body: Buffer) {
  response.req.resume();
  response.writeHead(200, { "content-type": type, "cache-control": "no-cache" }).end(body);
}

/** Git prints the text of an error after `remote:`. */
function sendText(response: ServerResponse, status: number, text: string) {
  response.req.resume();
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(`${text}\n`);
}
