import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { RefusedError, UnreachableError } from "./failures.ts";
import { authorityOf, type Target } from "./host.ts";

export interface PlainAnswer {
  status: number;
  /** One line. */
  text: string;
  headers?: Record<string, string>;
}

/** Somebody who does not read the answer is not waited for longer. */
const lingerMs = 5_000;

export function notReached(target: Target, error: unknown): PlainAnswer {
  const what = authorityOf(target);
  if (error instanceof RefusedError) {
    const { reason, remedy } = error.reason;
    return { status: 403, text: `Outrider refused ${what}: ${reason}. ${remedy}.` };
  }
  if (error instanceof UnreachableError) {
    return { status: error.status, text: `Outrider could not reach ${what}: ${error.message}.` };
  }
  throw error;
}

/** What Node could not read as a request, by its code. */
export function unreadable(code?: string): PlainAnswer {
  if (code === "HPE_HEADER_OVERFLOW")
    return { status: 431, text: "The headers of this request are too long." };
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return { status: 408, text: "The head of this request took too long." };
  return { status: 400, text: "This is not a request that an HTTP proxy can read." };
}

/** Says it as the last thing on this connection. */
export function answerRequest(response: ServerResponse, { status, text, headers }: PlainAnswer): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { headers: asked, socket, complete } = response.req;
  const isWhole = complete || (asked["content-length"] === undefined && !asked["transfer-encoding"]);
  // Told that it is the last, Node would close while the body is still on its way.
  const last = isWhole ? { connection: "close" } : {};
  if (!isWhole) response.once("finish", () => leave(socket));
  response.writeHead(status, { ...fieldsOf(text), ...last, ...headers }).end(`${text}\n`);
}

/** The same where Node has handed over the bare connection. */
export function answerSocket(socket: Socket, { status, text, headers }: PlainAnswer): void {
  const fields = Object.entries({ ...fieldsOf(text), connection: "close", ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  socket.write(`${[`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...fields].join("\r\n")}\r\n\r\n${text}\n`);
  leave(socket);
}

/** Closing with unread data resets the connection, and the other side may then lose the answer. */
function leave(socket: Socket): void {
  socket.end();
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
}

function fieldsOf(text: string): Record<string, string> {
  return {
    "content-type": "text/plain; charset=utf-8",
    "content-length": String(Buffer.byteLength(text) + 1),
  };
}
