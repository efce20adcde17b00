import { readEvents } from "./event-stream.ts";
import { HttpRefusal, isOk, refusalOf, sendWithin, typeOf } from "./http.ts";
import type { HttpTransportOptions } from "./http-transport.ts";
import {
  cancellation,
  deliver,
  isRequest,
  type Message,
  parseMessage,
  type Transport,
  UNASKED_BYTES,
} from "./transport.ts";
import { Waiting } from "./waiting.ts";

const FAREWELL_MS = 1_000;

/** The older transport: one stream of events brings all answers, and its first event says where questions go. */
export class SseTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: Message) => void;
  /** Why it ended, where the server did it. */
  failure: string | undefined;
  private endpoint: URL | undefined;
  private readonly options: HttpTransportOptions;
  private readonly closing = new AbortController();
  private readonly waiting = new Waiting();
  private isClosed = false;
  private cancelling: Promise<void> = Promise.resolve();

  constructor(options: HttpTransportOptions) {
    this.options = options;
  }

  async start() {
    const { url, send, headers } = this.options;
    const answer = await sendWithin(send, {
      method: "GET",
      url,
      headers: { ...headers, accept: "text/event-stream" },
      signal: this.closing.signal,
    });
    if (!isOk(answer)) throw await refusalOf(answer);
    if (typeOf(answer) !== "text/event-stream") {
      answer.body.destroy();
      throw new Error(
        `It answered with ${typeOf(answer) || "no content type"} instead of a stream of events.`,
      );
    }
    const events = readEvents(answer.body as AsyncIterable<Buffer>);
    for (;;) {
      const { value, done } = await events.next();
      if (done) throw new Error("Its stream ended before it said where to send messages.");
      if (value.event !== "endpoint") continue;
      const endpoint = URL.canParse(value.data, url.href) ? new URL(value.data, url) : undefined;
      // The headers are for the server that was named, and no other.
      if (endpoint?.origin !== url.origin) throw new Error("It wants messages sent to another server.");
      this.endpoint = endpoint;
      break;
    }
    void this.listen(events);
  }

  async send(message: Message, { signal }: { signal?: AbortSignal } = {}) {
    if (this.isClosed) throw new Error("The server is gone.");
    if (isRequest(message) && signal) this.waiting.add(message.id, signal, () => this.cancel(message.id));
    const within = signal ? AbortSignal.any([this.closing.signal, signal]) : this.closing.signal;
    try {
      await this.post(message, within);
    } catch (error) {
      // Whoever cannot be sent anything cannot be heard of either; the next call connects anew.
      if (!(error instanceof HttpRefusal) && !within.aborted) {
        this.failure ??= (error as Error).message;
        await this.close();
      }
      throw error;
    }
  }

  async close() {
    if (this.isClosed) return;
    this.isClosed = true;
    this.waiting.clear();
    await this.cancelling;
    this.closing.abort();
    this.onclose?.();
  }

  private cancel(id: string | number) {
    this.cancelling = this.post(cancellation(id), AbortSignal.timeout(FAREWELL_MS)).catch(() => {});
  }

  private async post(message: Message, signal: AbortSignal) {
    const { send, headers } = this.options;
    if (!this.endpoint) throw new Error("The server has not said where to send messages.");
    const answer = await sendWithin(send, {
      method: "POST",
      url: this.endpoint,
      body: JSON.stringify(message),
      headers: { ...headers, "content-type": "application/json" },
      signal,
    });
    if (!isOk(answer)) throw await refusalOf(answer);
    answer.body.resume();
  }

  private async listen(events: AsyncGenerator<{ event: string; data: string }>) {
    let unasked = 0;
    try {
      for await (const { event, data } of events) {
        const message = event === "message" ? parseMessage(data) : undefined;
        const isAnswer = message !== undefined && !("method" in message);
        if (isAnswer) this.waiting.answered(message.id);
        const isAsked = message !== undefined && deliver(this, message) && isAnswer;
        unasked = isAsked ? 0 : unasked + data.length;
        if (unasked > UNASKED_BYTES) throw new Error("It sent more than anybody reads.");
      }
      this.failure ??= "It closed its stream of events.";
    } catch (error) {
      this.failure ??= `Its stream of events broke: ${(error as Error).message}`;
    }
    await this.close();
  }
}
