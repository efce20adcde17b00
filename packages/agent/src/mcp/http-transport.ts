import { setTimeout as pause } from "node:timers/promises";
import { readEvents } from "./event-stream.ts";
import {
  type HttpAnswer,
  type HttpRequest,
  isOk,
  refusalOf,
  type Send,
  sendWithin,
  typeOf,
  wholeText,
} from "./http.ts";
import {
  cancellation,
  deliver,
  isAnswerTo,
  isRequest,
  type Message,
  parseMessage,
  type Transport,
  UNASKED_BYTES,
} from "./transport.ts";
import { Waiting } from "./waiting.ts";

const RESUMPTIONS = 5;
const RESUME_MS = 1_000;
const FAREWELL_MS = 1_000;

const posting = { "content-type": "application/json", accept: "application/json, text/event-stream" };

export interface HttpTransportOptions {
  url: URL;
  headers: Record<string, string>;
  send: Send;
}

/** The server has forgotten us: whoever wants more of it begins anew. What was asked was not done. */
export class SessionLostError extends Error {
  override name = "SessionLostError";
}

/**
 * Streamable HTTP: each message is a POST, and what it is answered with is JSON or a stream of events. The stream that
 * a server may offer besides is not opened: we answer none of the questions that it is for.
 */
export class HttpTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: Message) => void;
  private version: string | undefined;
  private session: string | undefined;
  private readonly options: HttpTransportOptions;
  private readonly closing = new AbortController();
  private readonly waiting = new Waiting();
  private cancelling: Promise<void> = Promise.resolve();

  constructor(options: HttpTransportOptions) {
    this.options = options;
  }

  async start() {}

  setProtocolVersion(version: string) {
    this.version = version;
  }

  /** Resolves when all that comes of the message has come; rejects where its answer does not. */
  async send(message: Message, { signal }: { signal?: AbortSignal } = {}): Promise<void> {
    const id = isRequest(message) ? message.id : undefined;
    const isInitialize = isRequest(message) && message.method === "initialize";
    // By the protocol, the beginning is the one thing that cannot be cancelled.
    if (id !== undefined && signal && !isInitialize) this.waiting.add(id, signal, () => this.cancel(id));
    try {
      const answer = await this.ask({
        method: "POST",
        body: JSON.stringify(message),
        headers: posting,
        ...(signal ? { signal } : {}),
      });
      if (isInitialize) this.session = answer.header("mcp-session-id");
      if (!isOk(answer)) throw await this.refusal(answer);
      if (id !== undefined) await this.receive(answer, id, signal);
      else answer.body.destroy();
    } finally {
      this.waiting.answered(id);
    }
  }

  async close() {
    if (this.closing.signal.aborted) return;
    this.closing.abort();
    await this.cancelling;
    if (this.session !== undefined) {
      const { url, send } = this.options;
      const signal = AbortSignal.timeout(FAREWELL_MS);
      const goodbye = send({ method: "DELETE", url, headers: this.headers(), signal });
      await goodbye.then(({ body }) => body.destroy()).catch(() => {});
    }
    this.onclose?.();
  }

  private cancel(id: string | number) {
    const { url, send } = this.options;
    this.cancelling = sendWithin(send, {
      method: "POST",
      url,
      body: JSON.stringify(cancellation(id)),
      headers: { ...this.headers(), ...posting },
      signal: AbortSignal.timeout(FAREWELL_MS),
    }).then(
      ({ body }) => void body.destroy(),
      () => {},
    );
  }

  private async refusal(answer: HttpAnswer): Promise<Error> {
    const refusal = await refusalOf(answer);
    if (answer.status !== 404 || this.session === undefined) return refusal;
    return new SessionLostError("The server has ended the session.");
  }

  private async receive(answer: HttpAnswer, id: string | number, signal?: AbortSignal) {
    const type = typeOf(answer);
    if (type === "text/event-stream") return this.follow(answer, id, signal);
    if (type !== "application/json") {
      answer.body.destroy();
      throw new Error(`It answered with ${type || "no content type"} instead of JSON or a stream of events.`);
    }
    const text = await wholeText(answer.body);
    const message = parseMessage(text);
    if (!message || !isAnswerTo(message, id))
      throw new Error(`It answered with what is no MCP: ${text.slice(0, 500)}`);
    deliver(this, message);
  }

  /** A server may hang up in between and go on where we come back to it. */
  private async follow(first: HttpAnswer, id: string | number, signal?: AbortSignal) {
    let answer = first;
    let last: string | undefined;
    let retry = RESUME_MS;
    for (let resumptions = 0; ; resumptions++) {
      let isAnswered = false;
      let unasked = 0;
      let broken = "";
      try {
        for await (const event of readEvents(answer.body as AsyncIterable<Buffer>)) {
          if (event.id) last = event.id;
          retry = event.retry ?? retry;
          unasked += event.data.length;
          if (unasked > UNASKED_BYTES) throw new Error("It sent more than anybody reads.");
          const message = event.event === "message" ? parseMessage(event.data) : undefined;
          if (!message) continue;
          if (isAnswerTo(message, id)) {
            isAnswered = true;
            this.waiting.answered(id);
          }
          deliver(this, message);
        }
      } catch (error) {
        if (isAnswered) return;
        signal?.throwIfAborted();
        broken = (error as Error).message;
      }
      if (isAnswered) return;
      if (last === undefined || resumptions === RESUMPTIONS)
        throw new Error(`Its answer broke off${broken === "" ? "" : `: ${broken}`}.`);
      await pause(Math.min(retry, 10_000), undefined, { signal: this.within(signal) });
      answer = await this.ask({
        method: "GET",
        headers: { accept: "text/event-stream", "last-event-id": last },
        ...(signal ? { signal } : {}),
      });
      if (!isOk(answer)) throw await this.refusal(answer);
    }
  }

  private ask({
    headers,
    signal,
    ...request
  }: Omit<HttpRequest, "url" | "signal"> & { signal?: AbortSignal }): Promise<HttpAnswer> {
    const { url, send } = this.options;
    const all = { ...this.headers(), ...headers };
    return sendWithin(send, { ...request, url, headers: all, signal: this.within(signal) });
  }

  private within(signal: AbortSignal | undefined): AbortSignal {
    return signal ? AbortSignal.any([this.closing.signal, signal]) : this.closing.signal;
  }

  private headers(): Record<string, string> {
    return {
      ...this.options.headers,
      ...(this.version === undefined ? {} : { "mcp-protocol-version": this.version }),
      ...(this.session === undefined ? {} : { "mcp-session-id": this.session }),
    };
  }
}
