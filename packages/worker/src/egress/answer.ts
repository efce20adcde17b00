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

/** Says it as the last thing on this connection. */
export function answerRequest(response: ServerResponse, { status, text, headers }: PlainAnswer): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { ...fieldsOf(text), ...headers }).end(`${text}\n`);
}

/** The same where Node has handed over the bare connection. */
export function answerSocket(socket: Socket, { status, text, headers }: PlainAnswer): void {
  const fields = Object.entries({ ...fieldsOf(text), ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  socket.end(`${[`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...fields].join("\r\n")}\r\n\r\n${text}\n`);
  // Closing with unread data resets the connection, and the other side may then lose the answer.
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
}

function fieldsOf(text: string): Record<string, string> {
  return {
    "content-type": "text/plain; charset=utf-8",
    "content-length": String(Buffer.byteLength(text) + 1),
    connection: "close",
  };
}
