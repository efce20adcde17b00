import { setTimeout as pause } from "node:timers/promises";
import { readEvents } from "../event-stream.ts";
import {
  type HttpRequest,
  type HttpResponse,
  isOk,
  MAX_QUOTED_CHARACTERS,
  mediaTypeOf,
  readBody,
  readHttpError,
  type Send,
  sendToOrigin,
} from "./http.ts";
import {
  cancellation,
  deliver,
  isRequest,
  MAX_UNSOLICITED_BYTES,
  type Transport,
  UNSOLICITED_LIMIT_EXCEEDED,
} from "./json-rpc-messages.ts";
import { MAX_MESSAGE_BYTES, type Message } from "./messages/message.ts";
import { MessageParser } from "./messages/message-parser.ts";
import { PendingRequests } from "./pending-requests.ts";

const MAX_RESUMPTIONS = 5;
const RESUME_DELAY_MS = 1_000;
const CLOSE_TIMEOUT_MS = 1_000;

const postHeaders = { "content-type": "application/json", accept: "application/json, text/event-stream" };

export interface HttpTransportOptions {
  url: URL;
  headers: Record<string, string>;
  send: Send;
}

/**
 * Thrown when the server no longer recognizes the session. The request was not executed, and the client must reconnect.
 */
export class SessionLostError extends Error {
  override name = "SessionLostError";
}

/**
 * The Streamable HTTP transport: each message is a POST, and the response is JSON or an event stream. The optional GET
 * stream for server-initiated requests is not opened, because Outrider supports none of those requests.
 */
export class HttpTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: Message) => void;
  onprogress?: (id: number) => void;
  #version: string | undefined;
  #session: string | undefined;
  readonly #options: HttpTransportOptions;
  readonly #closing = new AbortController();
  readonly #pending = new PendingRequests();
  readonly #parser = new MessageParser();
  #cancelling: Promise<void> = Promise.resolve();
  #isReplying = false;

  constructor(options: HttpTransportOptions) {
    this.#options = options;
  }

  async start() {}

  setProtocolVersion(version: string) {
    this.#version = version;
  }

  /** Sends a message. Resolves once the complete response has been delivered. */
  async send(message: Message, { signal }: { signal?: AbortSignal } = {}): Promise<void> {
    if (!isRequest(message)) return this.#post(message, signal);
    const id = Number(message.id);
    const isInitialize = message.method === "initialize";
    // The protocol does not allow clients to cancel `initialize`.
    const cancel = isInitialize ? undefined : () => this.#cancel(id);
    this.#pending.add(message, { signal, cancel });
    try {
      const response = await this.#send(message, signal);
      if (isInitialize) this.#session = response.header("mcp-session-id");
      if (!isOk(response)) throw await this.#toError(response);
      await this.#receive(response, id, signal);
    } finally {
      this.#pending.settle(id);
    }
  }

  /** Sends a notification, or a reply to one of the server's requests. */
  async #post(message: Message, signal: AbortSignal | undefined) {
    const isReply = !("method" in message);
    // A server could request any number of replies with one stream, and each would need a connection.
    if (isReply && this.#isReplying) return;
    this.#isReplying ||= isReply;
    try {
      const response = await this.#send(message, signal);
      if (!isOk(response)) throw await this.#toError(response);
      response.body.destroy();
    } finally {
      if (isReply) this.#isReplying = false;
    }
  }

  async close() {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    await this.#cancelling;
    if (this.#session !== undefined) {
      const { url, send } = this.#options;
      const signal = AbortSignal.timeout(CLOSE_TIMEOUT_MS);
      const request = send({ method: "DELETE", url, headers: this.#headers(), signal });
      await request.then(({ body }) => body.destroy()).catch(() => {});
    }
    this.onclose?.();
  }

  #cancel(id: number) {
    const { url, send } = this.#options;
    this.#cancelling = sendToOrigin(send, {
      method: "POST",
      url,
      body: JSON.stringify(cancellation(id)),
      headers: { ...this.#headers(), ...postHeaders },
      signal: AbortSignal.timeout(CLOSE_TIMEOUT_MS),
    }).then(
      ({ body }) => void body.destroy(),
      () => {},
    );
  }

  async #toError(response: HttpResponse): Promise<Error> {
    const error = await readHttpError(response);
    if (response.status !== 404 || this.#session === undefined) return error;
    return new SessionLostError("The server has ended the session.");
  }

  async #receive(response: HttpResponse, id: number, signal?: AbortSignal) {
    const type = mediaTypeOf(response);
    if (type === "text/event-stream") return this.#readStream(response, id, signal);
    if (type !== "application/json") {
      response.body.destroy();
      throw new Error(
        `The server responded with ${type || "no content type"} instead of JSON or an event stream.`,
      );
    }
    const body = await readBody(response.body);
    const parsed = await this.#parser.parse(body, this.#pending.methods);
    deliver(this, parsed, this.#pending);
    const isAnswer = parsed.type === "excessive" || (parsed.type === "response" && parsed.id === id);
    if (isAnswer) return;
    const beginning = body.subarray(0, MAX_QUOTED_CHARACTERS).toString();
    throw new Error(`The server's response is not a valid MCP message: ${beginning}`);
  }

  /** Reads a response's events. If the server closes the stream early, resumes it after the last received event. */
  async #readStream(first: HttpResponse, id: number, signal?: AbortSignal) {
    let response = first;
    let lastEventId: string | undefined;
    let retryMs = RESUME_DELAY_MS;
    for (let resumptions = 0; ; resumptions++) {
      let isAnswered = false;
      let unsolicitedBytes = 0;
      let streamError = "";
      try {
        const events = readEvents(response.body as AsyncIterable<Buffer>, {
          maxCharacters: MAX_MESSAGE_BYTES,
          onId: (eventId) => {
            lastEventId = eventId || lastEventId;
          },
          onRetry: (ms) => {
            retryMs = ms;
          },
        });
        for await (const { event, data } of events) {
          unsolicitedBytes += data.length;
          if (unsolicitedBytes > MAX_UNSOLICITED_BYTES) throw new Error(UNSOLICITED_LIMIT_EXCEEDED);
          if (event !== "message") continue;
          const parsed = await this.#parser.parse(Buffer.from(data), this.#pending.methods);
          deliver(this, parsed, this.#pending);
          isAnswered ||= !this.#pending.has(id);
        }
      } catch (error) {
        if (isAnswered) return;
        signal?.throwIfAborted();
        streamError = (error as Error).message.replace(/\.$/, "");
      }
      if (isAnswered) return;
      if (lastEventId === undefined || resumptions === MAX_RESUMPTIONS)
        throw new Error(`The response was interrupted${streamError === "" ? "" : `: ${streamError}`}.`);
      await pause(Math.min(retryMs, 10_000), undefined, { signal: this.#combine(signal) });
      response = await this.#request({
        method: "GET",
        headers: { accept: "text/event-stream", "last-event-id": lastEventId },
        ...(signal ? { signal } : {}),
      });
      if (!isOk(response)) throw await this.#toError(response);
    }
  }

  #send(message: Message, signal: AbortSignal | undefined): Promise<HttpResponse> {
    return this.#request({
      method: "POST",
      body: JSON.stringify(message),
      headers: postHeaders,
      ...(signal ? { signal } : {}),
    });
  }

  #request({
    headers,
    signal,
    ...rest
  }: Omit<HttpRequest, "url" | "signal"> & { signal?: AbortSignal }): Promise<HttpResponse> {
    const { url, send } = this.#options;
    const allHeaders = { ...this.#headers(), ...headers };
    return sendToOrigin(send, { ...rest, url, headers: allHeaders, signal: this.#combine(signal) });
  }

  #combine(signal: AbortSignal | undefined): AbortSignal {
    return signal ? AbortSignal.any([this.#closing.signal, signal]) : this.#closing.signal;
  }

  #headers(): Record<string, string> {
    return {
      ...this.#options.headers,
      ...(this.#version === undefined ? {} : { "mcp-protocol-version": this.#version }),
      ...(this.#session === undefined ? {} : { "mcp-session-id": this.#session }),
    };
  }
}
