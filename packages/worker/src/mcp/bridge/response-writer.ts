import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { rpcError, rpcErrors } from "./rpc-message.ts";

/** Clients give up on a response that sends nothing, some after a minute. */
const KEEP_ALIVE_MS = 15_000;
/** How long a process in the sandbox may take to read a response. */
const READ_MS = 60_000;
/** Further progress is not reported to a client that does not read. */
const MAX_BUFFERED_BYTES = 64 * 1024;

/** Writes the response to one request: JSON, or an event stream for a call that may take long. */
export class ResponseWriter {
  readonly response: ServerResponse;
  /** Sent to the client, which repeats it in its next requests. */
  sessionId: string | undefined;
  readonly #acceptsStream: boolean;
  #keepAlive: NodeJS.Timeout | undefined;

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.response = response;
    this.#acceptsStream = /text\/event-stream|\*\/\*/i.test(request.headers.accept ?? "");
    response.on("error", () => {});
    response.once("close", () => clearInterval(this.#keepAlive));
  }

  /** Rejects a request. The rest of its body is not read. */
  refuse(
    status: number,
    message: string,
    headers: OutgoingHttpHeaders = {},
    code: number = rpcErrors.invalidRequest,
  ): void {
    this.#end(status, JSON.stringify(rpcError(null, code, message)), { ...headers, connection: "close" });
  }

  /** Confirms a message that has no response. */
  accept(): void {
    this.response.writeHead(202).end();
  }

  /** Starts an event stream if the client accepts one. */
  startStream(): void {
    if (!this.#acceptsStream) return;
    this.response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    this.response.flushHeaders();
    this.#keepAlive = setInterval(() => this.#writeIfRead(": in progress\n\n"), KEEP_ALIVE_MS).unref();
  }

  notify(message: object): void {
    if (this.#keepAlive) this.#writeIfRead(toEvent(message));
  }

  /** Sends the response and returns its size. */
  send(message: object): number {
    if (!this.#keepAlive) {
      const session = this.sessionId === undefined ? {} : { "mcp-session-id": this.sessionId };
      return this.#end(200, JSON.stringify(message), session);
    }
    const text = toEvent(message);
    this.#limitReading();
    this.response.end(text);
    return Buffer.byteLength(text);
  }

  /** Ends the response without a message. */
  end(): void {
    if (!this.response.headersSent) this.response.writeHead(202);
    this.response.end();
  }

  #end(status: number, text: string, headers: OutgoingHttpHeaders): number {
    this.#limitReading();
    const bytes = Buffer.byteLength(text);
    this.response
      .writeHead(status, { ...headers, "content-type": "application/json", "content-length": bytes })
      .end(text);
    return bytes;
  }

  #limitReading() {
    const timer = setTimeout(() => this.response.destroy(), READ_MS).unref();
    this.response.once("close", () => clearTimeout(timer));
  }

  #writeIfRead(text: string) {
    if (!this.response.destroyed && this.response.writableLength < MAX_BUFFERED_BYTES)
      this.response.write(text);
  }
}

function toEvent(message: object): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}
