import { request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { pipeline } from "node:stream";
import { UnreachableError } from "./egress-errors.ts";
import { endToEndHeaders } from "./headers.ts";
import { formatAuthority, parseTarget, type Target } from "./host.ts";
import { connectErrorResponse, respond } from "./respond.ts";
import { explainStatus, type UpstreamProxy } from "./upstream-proxy.ts";

export const maxHeaderBytes = 32 * 1024;

/** Parses an absolute-form request URL as strictly as a CONNECT target. */
export function parseDestination(url: string): { target: Target; path: string } | undefined {
  const [, authority = "", path = ""] = /^http:\/\/([^/?#]*)([^#]*)/i.exec(url) ?? [];
  const target = parseTarget(authority, 80);
  return target && { target, path: path.startsWith("/") ? path : `/${path}` };
}

export interface ForwardOptions {
  request: IncomingMessage;
  response: ServerResponse;
  target: Target;
  path: string;
  /** A connection to the target. It is used for this request only. */
  socket: Socket;
  /** Set if the connection leads to the upstream proxy instead. */
  via?: UpstreamProxy | undefined;
  idleMs: number;
}

/** Forwards a request as a new one and streams the response back. Node's parser alone decides where messages end. */
export function forward({ request, response, target, path, socket, via, idleMs }: ForwardOptions): void {
  const host = target.port === 80 ? formatAuthority(target).replace(/:80$/, "") : formatAuthority(target);
  const outgoing = httpRequest({
    createConnection: () => socket,
    method: request.method,
    path: via ? `http://${host}${path}` : path,
    headers: [
      ...["host", host],
      ...endToEndHeaders(request.rawHeaders, ["host"]),
      ...framingHeaders(request),
      ...["connection", "close"],
      ...(via?.authorization ? ["proxy-authorization", via.authorization] : []),
    ],
    setHost: false,
    insecureHTTPParser: false,
    maxHeaderSize: maxHeaderBytes,
  });
  outgoing.setTimeout(idleMs, () =>
    outgoing.destroy(new UnreachableError(504, "it did not respond in time")),
  );
  const fail = (error: UnreachableError) => respond(response, connectErrorResponse(target, error));
  outgoing.on("error", (error: NodeJS.ErrnoException) => {
    fail(error instanceof UnreachableError ? error : new UnreachableError(502, describeFailure(error)));
  });
  // The upgrade header is not forwarded, so an upgrade is unexpected. Node emits no further events for this connection.
  outgoing.on("upgrade", () => {
    socket.destroy();
    fail(new UnreachableError(502, "it switched to another protocol"));
  });
  outgoing.on("response", (incoming) => {
    // The sandbox must not be asked for the upstream proxy's credential.
    if (via && incoming.statusCode === 407) {
      outgoing.destroy(new UnreachableError(502, explainStatus(via.name, 407)));
      return;
    }
    try {
      // The server responded early, so the rest of the request body is still on the connection.
      if (!request.complete) response.shouldKeepAlive = false;
      response.sendDate = false;
      response.writeHead(
        incoming.statusCode ?? 0,
        incoming.statusMessage,
        endToEndHeaders(incoming.rawHeaders),
      );
    } catch {
      outgoing.destroy(new UnreachableError(502, notHttp));
      return;
    }
    pipeline(incoming, response, () => outgoing.destroy());
  });
  response.once("close", () => outgoing.destroy());
  request.on("error", () => outgoing.destroy()).pipe(outgoing);
}

/**
 * Returns the body-length headers to add. `transfer-encoding` is never forwarded, and if a request that may have a body
 * has no length, Node would guess one.
 */
function framingHeaders({ method = "", headers }: IncomingMessage): string[] {
  if (headers["transfer-encoding"] !== undefined) return ["transfer-encoding", "chunked"];
  const usuallyHasNoBody = ["GET", "HEAD", "DELETE", "OPTIONS", "TRACE"].includes(method);
  return headers["content-length"] !== undefined || usuallyHasNoBody ? [] : ["content-length", "0"];
}

const notHttp = "it sent a response that is not HTTP";

function describeFailure({ code }: NodeJS.ErrnoException): string {
  return code?.startsWith("HPE_") ? notHttp : `the connection was closed (${code ?? "no error code"})`;
}
