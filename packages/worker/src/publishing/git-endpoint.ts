/**
 * The HTTP server to which `git push` in a run's sandbox connects (sandbox-server.ts). It speaks git's smart HTTP protocol.
 *
 * It needs no credential and has none: a push only asks the worker to publish commits, which are checked like all others
 * (see publish-changes.ts).
 *
 * Invariants:
 * - Every client is hostile. The lines, refs, size and duration of a push are limited, and the server limits connections.
 * - Only the run's branch of a repository that the run may publish can be pushed. Nothing can be fetched.
 * - At most one push is under way, so that the pushes of a sandbox use little of the worker's disk and processor time.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { SandboxServer } from "../sandbox-server/sandbox-server.ts";
import { type AdvertisedBranch, advertise, errorLine, refuseService } from "./receive-pack/advertisement.ts";
import { ProtocolError } from "./receive-pack/protocol-error.ts";
import { type PushResult, type ReceivedPush, receivePush } from "./receive-pack/receive-push.ts";

const limits = {
  connections: 16,
  headerBytes: 16 * 1024,
  pipelinedRequests: 4,
  requestMs: 30_000,
  idleMs: 30_000,
};
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
  readonly #server: SandboxServer;
  #isPushing = false;

  constructor(options: GitEndpointOptions) {
    this.#options = options;
    this.#server = new SandboxServer({
      limits,
      handle: (request, response, gone) => this.#handle(request, response, gone),
      signal: options.signal,
    });
  }

  /** Serves one connection from the sandbox. */
  readonly accept = (connection: Duplex): void => this.#server.accept(connection);

  /** Aborts a push under way and closes all connections. */
  close(): Promise<void> {
    return this.#server.close();
  }

  async #handle(request: IncomingMessage, response: ServerResponse, gone: AbortSignal): Promise<void> {
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
      await this.#receive(target, { request, response, gone });
    } finally {
      this.#isPushing = false;
    }
  }

  async #receive(
    target: PushTarget,
    {
      request,
      response,
      gone: signal,
    }: { request: IncomingMessage; response: ServerResponse; gone: AbortSignal },
  ): Promise<void> {
    const { path, branch } = target;
    const { publish, redact } = this.#options;
    const timer = setTimeout(() => response.destroy(), PUSH_MS);
    response.once("close", () => clearTimeout(timer));
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
