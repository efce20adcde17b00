import { readEvents, type StreamEvent } from "../event-stream.ts";
import { HttpError, isOk, mediaTypeOf, readHttpError, sendToOrigin } from "./http.ts";
import type { HttpTransportOptions } from "./http-transport.ts";
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

const CLOSE_TIMEOUT_MS = 1_000;

/**
 * The older HTTP+SSE transport: one event stream delivers all responses; its first event names the URL for requests.
 */
export class SseTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: Message) => void;
  onprogress?: (id: number) => void;
  /** The reason why the server ended the connection, if it did. */
  failure: string | undefined;
  #endpoint: URL | undefined;
  readonly #options: HttpTransportOptions;
  readonly #closing = new AbortController();
  readonly #pending = new PendingRequests();
  readonly #parser = new MessageParser();
  #isClosed = false;
  #isReplying = false;
  #cancelling: Promise<void> = Promise.resolve();

  constructor(options: HttpTransportOptions) {
    this.#options = options;
  }

  async start() {
    const { url, send, headers } = this.#options;
    const response = await sendToOrigin(send, {
      method: "GET",
      url,
      headers: { ...headers, accept: "text/event-stream" },
      signal: this.#closing.signal,
    });
    if (!isOk(response)) throw await readHttpError(response);
    if (mediaTypeOf(response) !== "text/event-stream") {
      response.body.destroy();
      throw new Error(
        `The server responded with ${mediaTypeOf(response) || "no content type"} instead of an event stream.`,
      );
    }
    const body = response.body as AsyncIterable<Buffer>;
    const events = readEvents(body, { maxCharacters: MAX_MESSAGE_BYTES });
    for (;;) {
      const { value, done } = await events.next();
      if (done) throw new Error("The event stream ended before the server named its message endpoint.");
      if (value.event !== "endpoint") continue;
      const endpoint = URL.canParse(value.data, url.href) ? new URL(value.data, url) : undefined;
      // The headers contain keys that only the configured origin may receive.
      if (endpoint?.origin !== url.origin)
        throw new Error("The server's message endpoint is on another origin.");
      this.#endpoint = endpoint;
      break;
    }
    void this.#readMessages(events);
  }

  async send(message: Message, { signal }: { signal?: AbortSignal } = {}) {
    if (this.#isClosed) throw new Error("The connection to the MCP server is closed.");
    const isReply = !("method" in message);
    // A server could request any number of replies with one stream, and each would need a connection.
    if (isReply && this.#isReplying) return;
    this.#isReplying ||= isReply;
    if (isRequest(message)) this.#pending.add(message, { signal, cancel: () => this.#cancel(message.id) });
    const combined = signal ? AbortSignal.any([this.#closing.signal, signal]) : this.#closing.signal;
    try {
      await this.#post(message, combined);
    } catch (error) {
      // A failed send closes the connection so that the next call reconnects.
      if (!(error instanceof HttpError) && !combined.aborted) {
        this.failure ??= (error as Error).message;
        await this.close();
      }
      throw error;
    } finally {
      if (isReply) this.#isReplying = false;
    }
  }

  async close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#pending.clear();
    await this.#cancelling;
    this.#closing.abort();
    this.onclose?.();
  }

  #cancel(id: string | number) {
    this.#cancelling = this.#post(cancellation(id), AbortSignal.timeout(CLOSE_TIMEOUT_MS)).catch(() => {});
  }

  async #post(message: Message, signal: AbortSignal) {
    const { send, headers } = this.#options;
    if (!this.#endpoint) throw new Error("The server has not sent its `endpoint` event.");
    const response = await sendToOrigin(send, {
      method: "POST",
      url: this.#endpoint,
      body: JSON.stringify(message),
      headers: { ...headers, "content-type": "application/json" },
      signal,
    });
    if (!isOk(response)) throw await readHttpError(response);
    response.body.resume();
  }

  async #readMessages(events: AsyncGenerator<StreamEvent>) {
    let unsolicitedBytes = 0;
    try {
      for await (const { event, data } of events) {
        const isMessage = event === "message";
        const parsed = isMessage
          ? await this.#parser.parse(Buffer.from(data), this.#pending.methods)
          : undefined;
        const isExpected = parsed !== undefined && deliver(this, parsed, this.#pending);
        unsolicitedBytes = isExpected ? 0 : unsolicitedBytes + data.length;
        if (unsolicitedBytes > MAX_UNSOLICITED_BYTES) throw new Error(UNSOLICITED_LIMIT_EXCEEDED);
      }
      this.failure ??= "The server closed the event stream.";
    } catch (error) {
      this.failure ??= `The event stream failed: ${(error as Error).message}`;
    }
    await this.close();
  }
}
