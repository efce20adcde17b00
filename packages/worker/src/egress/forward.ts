import { request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { pipeline } from "node:stream";
import { answerRequest, notReached } from "./answer.ts";
import { UnreachableError } from "./failures.ts";
import { endToEnd } from "./headers.ts";
import { authorityOf, type Target, targetOf } from "./host.ts";

export const maxHeaderBytes = 32 * 1024;

/** Where a request in absolute form goes, read as strictly as the target of CONNECT. */
export function destinationOf(url: string): { target: Target; path: string } | undefined {
  const [, authority = "", path = ""] = /^http:\/\/([^/?#]*)([^#]*)/i.exec(url) ?? [];
  const target = targetOf(authority, 80);
  return target && { target, path: path.startsWith("/") ? path : `/${path}` };
}

export interface Forwarded {
  request: IncomingMessage;
  response: ServerResponse;
  target: Target;
  path: string;
  /** Already connected to the target, and used for this request alone. */
  socket: Socket;
  idleMs: number;
}

/** Sends a request on as a new one and its answer back; what either side means by a message is Node's parser's word. */
export function forward({ request, response, target, path, socket, idleMs }: Forwarded): void {
  const outgoing = httpRequest({
    createConnection: () => socket,
    method: request.method,
    path,
    headers: [
      ...["host", target.port === 80 ? authorityOf(target).replace(/:80$/, "") : authorityOf(target)],
      ...endToEnd(request.rawHeaders, ["host"]),
      ...framingOf(request),
      ...["connection", "close"],
    ],
    setHost: false,
    insecureHTTPParser: false,
    maxHeaderSize: maxHeaderBytes,
  });
  outgoing.setTimeout(idleMs, () => outgoing.destroy(new UnreachableError(504, "it did not answer in time")));
  const failed = (error: UnreachableError) => answerRequest(response, notReached(target, error));
  outgoing.on("error", (error: NodeJS.ErrnoException) => {
    failed(error instanceof UnreachableError ? error : new UnreachableError(502, brokenBy(error)));
  });
  // Nobody asked for one, as the header does not go on. Node reports nothing further on such a connection.
  outgoing.on("upgrade", () => {
    socket.destroy();
    failed(new UnreachableError(502, "it wants to speak another protocol"));
  });
  outgoing.on("response", (incoming) => {
    try {
      // A body that the other side did not wait for still lies on the connection.
      if (!request.complete) response.shouldKeepAlive = false;
      response.sendDate = false;
      response.writeHead(incoming.statusCode ?? 0, incoming.statusMessage, endToEnd(incoming.rawHeaders));
    } catch {
      outgoing.destroy(new UnreachableError(502, "it sent an answer that is not HTTP"));
      return;
    }
    pipeline(incoming, response, () => outgoing.destroy());
  });
  response.once("close", () => outgoing.destroy());
  request.on("error", () => outgoing.destroy()).pipe(outgoing);
}

/** Our own words about the length of the body, where the client's do not go on or where Node would guess. */
function framingOf({ method = "", headers }: IncomingMessage): string[] {
  if (headers["transfer-encoding"] !== undefined) return ["transfer-encoding", "chunked"];
  const isUsuallyEmpty = ["GET", "HEAD", "DELETE", "OPTIONS", "TRACE"].includes(method);
  return headers["content-length"] !== undefined || isUsuallyEmpty ? [] : ["content-length", "0"];
}

function brokenBy({ code }: NodeJS.ErrnoException): string {
  return code?.startsWith("HPE_")
    ? "it sent an answer that is not HTTP"
    : `the connection broke (${code ?? "closed"})`;
}
