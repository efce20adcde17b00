import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { RefusedError, UnreachableError } from "./egress-errors.ts";
import { formatAuthority, type Target } from "./host.ts";

export interface PlainResponse {
  status: number;
  /** One line, without its line break. */
  text: string;
  headers?: Record<string, string>;
}

/** How long the proxy waits for a client that is not reading its response. */
const lingerMs = 5_000;

export function connectErrorResponse(target: Target, error: unknown): PlainResponse {
  const authority = formatAuthority(target);
  if (error instanceof RefusedError) {
    const { reason, remedy } = error.reason;
    return { status: 403, text: `Outrider refused ${authority}: ${reason}. ${remedy}.` };
  }
  if (error instanceof UnreachableError) {
    return { status: error.status, text: `Outrider could not reach ${authority}: ${error.message}.` };
  }
  throw error;
}

/** Maps Node's parse error code to a response. */
export function parseErrorResponse(code?: string): PlainResponse {
  if (code === "HPE_HEADER_OVERFLOW") return { status: 431, text: "The request headers are too large." };
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return { status: 408, text: "The request headers took too long to arrive." };
  return { status: 400, text: "The request is not valid HTTP." };
}

/** Sends a response and closes the connection. */
export function respond(response: ServerResponse, { status, text, headers }: PlainResponse): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { headers: requestHeaders, socket, complete } = response.req;
  const isComplete =
    complete || (requestHeaders["content-length"] === undefined && !requestHeaders["transfer-encoding"]);
  // With this header, Node would close the connection while the request body is still arriving.
  const connection = isComplete ? { connection: "close" } : {};
  if (!isComplete) response.once("finish", () => closeAfterResponse(socket));
  response.writeHead(status, { ...contentHeaders(text), ...connection, ...headers }).end(`${text}\n`);
}

/** Does the same as `respond`, on a raw socket. */
export function respondOnSocket(socket: Duplex, { status, text, headers }: PlainResponse): void {
  const fields = Object.entries({ ...contentHeaders(text), connection: "close", ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  socket.write(`${[`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...fields].join("\r\n")}\r\n\r\n${text}\n`);
  closeAfterResponse(socket);
}

/**
 * Closes the connection after reading the rest of the request. Closing with unread data would reset the connection and
 * lose the response.
 */
function closeAfterResponse(socket: Duplex): void {
  socket.end();
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
}

function contentHeaders(text: string): Record<string, string> {
  return {
    "content-type": "text/plain; charset=utf-8",
    "content-length": String(Buffer.byteLength(text) + 1),
  };
}
