import { APIConnectionError, APIError, APIUserAbortError } from "./errors.ts";
import type { Http, RequestOptions } from "./http.ts";
import { retryDelay, sleep } from "./retry.ts";
import { type Message, readMessages } from "./sse.ts";

/** These retries take about a minute, so a stream survives a server restart. */
const DEFAULT_MAX_RETRIES = 10;

export interface StreamOptions extends RequestOptions {
  /** Skip events up to this `seq`. */
  after?: number;
}

/**
 * A stream of numbered events. It reconnects after a lost connection, continues after the last event, and ends when the
 * server has sent all events. `maxRetries` limits consecutive attempts without an event (default 10). `timeout` limits
 * the time without any data.
 */
export class EventStream<Event> implements AsyncIterable<Event> {
  readonly #http: Http;
  readonly #path: string;
  readonly #options: StreamOptions;
  readonly #read: (message: Message) => Event | undefined;
  readonly #controller = new AbortController();
  /** The `seq` of the last event that was returned. */
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

  /** Closes the stream without an error. The run continues. */
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
    const { maxRetries = DEFAULT_MAX_RETRIES, timeout = this.#http.settings.timeout } = this.#options;
    const { signal } = this.#controller;
    for (let failures = 0; !signal.aborted; failures++) {
      if (failures > maxRetries)
        throw new APIConnectionError(`The stream was interrupted ${failures} times without a new event.`);
      if (failures > 0) await sleep(retryDelay(failures), signal);
      const response = await this.#connect(maxRetries, signal);
      if (!response?.body) return;
      try {
        for await (const message of readMessages(response.body, { idle: timeout, signal })) {
          if (signal.aborted) return;
          const event = this.#read(message);
          if (message.id) {
            this.lastSeq = Number(message.id);
            failures = -1;
          }
          if (event !== undefined) yield event;
        }
      } catch (error) {
        if (signal.aborted) return;
        this.#http.settings.log.info("stream interrupted, reconnecting", {
          after: this.lastSeq,
          reason: String(error),
        });
      }
    }
  }

  /** Opens the connection. Returns undefined if there are no more events, or if the stream was closed. */
  async #connect(maxRetries: number, signal: AbortSignal): Promise<Response | undefined> {
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
      throw new APIError(`${this.#path} did not return a stream. Check that baseURL is the URL of the API.`);
    } catch (error) {
      if (error instanceof APIUserAbortError) return undefined;
      throw error;
    }
  }
}
