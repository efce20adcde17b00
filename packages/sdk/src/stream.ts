import { APIConnectionError, APIError, APIUserAbortError } from "./errors.ts";
import type { Http, RequestOptions } from "./http.ts";
import { pause, pauseBefore } from "./retry.ts";
import { type Message, readMessages } from "./sse.ts";

/** A stream outlives restarts of the service: about a minute of tries, anew after each event. */
const TRIES = 10;

export interface StreamOptions extends RequestOptions {
  /** Only events with a higher `seq`. */
  after?: number;
}

/**
 * Numbered events as they happen. Where the connection breaks it goes on behind the last event, and it ends when the
 * service says that everything was told. `maxRetries` counts tries without any event between them, 10 where not set;
 * `timeout` is how long nothing at all may be heard.
 */
export class EventStream<Event> implements AsyncIterable<Event> {
  readonly #http: Http;
  readonly #path: string;
  readonly #options: StreamOptions;
  readonly #read: (message: Message) => Event | undefined;
  readonly #controller = new AbortController();
  /** The `seq` of the last event that was handed out. */
  lastSeq: number;

  constructor(from: {
    http: Http;
    path: string;
    options: StreamOptions;
    read: (message: Message) => Event | undefined;
  }) {
    this.#http = from.http;
    this.#path = from.path;
    this.#options = from.options;
    this.#read = from.read;
    this.lastSeq = from.options.after ?? 0;
  }

  /** Ends the stream without an error; the run goes on. */
  close(): void {
    this.#controller.abort();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event> {
    const { signal } = this.#options;
    const close = () => this.close();
    signal?.addEventListener("abort", close);
    if (signal?.aborted) close();
    try {
      yield* this.#events();
    } finally {
      signal?.removeEventListener("abort", close);
      close();
    }
    if (signal?.aborted) throw new APIUserAbortError("The stream was aborted.");
  }

  async *#events(): AsyncGenerator<Event> {
    const { maxRetries = TRIES, timeout = this.#http.settings.timeout } = this.#options;
    const { signal } = this.#controller;
    for (let fruitless = 0; !signal.aborted; fruitless++) {
      if (fruitless > maxRetries)
        throw new APIConnectionError(`The stream broke ${fruitless} times without a new event.`);
      if (fruitless > 0) await pause(pauseBefore(fruitless), signal);
      const response = await this.#open(maxRetries, signal);
      if (!response?.body) return;
      try {
        for await (const message of readMessages(response.body, { idle: timeout, signal })) {
          if (signal.aborted) return;
          const event = this.#read(message);
          if (message.id) {
            this.lastSeq = Number(message.id);
            fruitless = -1;
          }
          if (event !== undefined) yield event;
        }
      } catch (error) {
        if (signal.aborted) return;
        this.#http.settings.log.info("The stream broke and is taken up again", {
          after: this.lastSeq,
          because: String(error),
        });
      }
    }
  }

  /** Undefined where there is nothing more to tell, or nobody to tell it to. */
  async #open(maxRetries: number, signal: AbortSignal): Promise<Response | undefined> {
    const { after: _, headers, ...options } = this.#options;
    try {
      const { response } = await this.#http.perform(
        { method: "GET", path: this.#path, accept: "text/event-stream" },
        {
          ...options,
          signal,
          maxRetries,
          headers: { ...headers, ...(this.lastSeq > 0 ? { "last-event-id": String(this.lastSeq) } : {}) },
        },
        true,
      );
      if (response.status === 204) return undefined;
      if (response.headers.get("content-type")?.startsWith("text/event-stream")) return response;
      await response.body?.cancel();
      throw new APIError(`${this.#path} answered without a stream: is baseURL the API's address?`);
    } catch (error) {
      if (error instanceof APIUserAbortError) return undefined;
      throw error;
    }
  }
}
