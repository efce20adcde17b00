import { addressOf, type Query } from "./address.ts";
import {
  APIConnectionError,
  type APIError,
  APITimeoutError,
  APIUserAbortError,
  OutriderError,
  statusError,
} from "./errors.ts";
import { type Logger, withoutSecrets } from "./log.ts";
import { type Answer, ResponsePromise } from "./promise.ts";
import { accepted, decode, type Reading, read } from "./reading.ts";
import { after, mayRetry, pause, pauseBefore } from "./retry.ts";

/** What else `fetch` takes: a dispatcher, credentials, cache. The rest is the call's own. */
export type FetchOptions = Omit<RequestInit, "method" | "headers" | "body" | "signal">;

/** What a single call may set for itself. */
export interface RequestOptions {
  /** Milliseconds for one attempt, from the request to the last byte of its answer. */
  timeout?: number;
  /** How often to try again. */
  maxRetries?: number;
  /** Besides the client's; an empty value leaves a header out. */
  headers?: Record<string, string>;
  /** Besides the call's own query. */
  query?: Query;
  /** Ends the call with APIUserAbortError. */
  signal?: AbortSignal;
  /** In place of the one that every POST gets by itself. */
  idempotencyKey?: string;
  /** For `fetch`, besides the client's. */
  fetchOptions?: FetchOptions;
}

export interface HttpSettings {
  apiKey: string | null;
  baseURL: string;
  timeout: number;
  maxRetries: number;
  fetch: (url: string, init: RequestInit) => Promise<Response>;
  fetchOptions: FetchOptions;
  headers: Record<string, string>;
  log: Logger;
}

export interface Call {
  method: string;
  path: string;
  query?: object | undefined;
  body?: unknown;
  accept?: string;
  reading?: Reading;
}

/** Sends requests: again where that may help, each attempt with its own bound. */
export class Http {
  readonly #settings: HttpSettings;

  constructor(settings: HttpSettings) {
    this.#settings = settings;
  }

  get settings(): Readonly<HttpSettings> {
    return this.#settings;
  }

  request<T>(call: Call, options: RequestOptions = {}): ResponsePromise<T> {
    return new ResponsePromise<T>(({ raw }) => this.perform<T>(call, options, raw));
  }

  async perform<T>(call: Call, options: RequestOptions, raw: boolean): Promise<Answer<T>> {
    const { baseURL, log } = this.#settings;
    const { timeout, maxRetries } = checkedBounds({
      timeout: options.timeout ?? this.#settings.timeout,
      maxRetries: options.maxRetries ?? this.#settings.maxRetries,
    });
    const { reading = "json" } = call;
    const url = addressOf(baseURL, call.path, { ...call.query, ...options.query });
    const init = this.#init(call, options);
    const name = `${call.method} ${call.path.split("?")[0]}`;
    log.debug(`${name} begins`, { headers: withoutSecrets(init.headers as Record<string, string>) });

    for (let attempt = 1; ; attempt++) {
      const began = Date.now();
      let failure: APIError;
      let wait: number;
      try {
        const answer = await this.#attempt({ url, init, raw, options, limit: timeout });
        const { response, bytes } = answer;
        log.debug(`${name} answered ${response.status}`, { attempt, ms: Date.now() - began });
        if (response.ok) return bytes ? { response, data: read<T>(response, bytes, reading) } : { response };
        failure = statusError(response.status, response.headers, decode(bytes));
        if (attempt > maxRetries || !mayRetry(response)) throw failure;
        wait = pauseBefore(attempt, response.headers);
      } catch (error) {
        if (!(error instanceof APIConnectionError) || attempt > maxRetries) throw error;
        failure = error;
        wait = pauseBefore(attempt);
      }
      log.info(`${name} is tried again`, { attempt, in_ms: Math.round(wait), because: failure.message });
      await pause(wait, options.signal);
    }
  }

  #init({ method, body, accept, reading = "json" }: Call, options: RequestOptions): RequestInit {
    const { apiKey, headers, fetchOptions } = this.#settings;
    const idempotencyKey = options.idempotencyKey ?? (method === "POST" ? randomKey() : undefined);
    const all: Record<string, string> = {
      accept: accept ?? accepted[reading],
      ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
      ...lowered(headers),
      ...lowered(options.headers ?? {}),
    };
    return {
      ...fetchOptions,
      ...options.fetchOptions,
      method,
      headers: Object.fromEntries(Object.entries(all).filter(([, value]) => value !== "")),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
  }

  async #attempt({ url, init, raw, options: { signal }, limit }: Attempt): Promise<Attempted> {
    if (signal?.aborted) throw new APIUserAbortError("The call was aborted.");
    const controller = new AbortController();
    const abort = () => controller.abort();
    signal?.addEventListener("abort", abort);
    let isLate = false;
    const timer = after(limit, () => {
      isLate = true;
      abort();
    });
    let isLeftOpen = false;
    try {
      const response = await this.#settings.fetch(url, { ...init, signal: controller.signal });
      isLeftOpen = raw && response.ok;
      return isLeftOpen ? { response } : { response, bytes: await response.arrayBuffer() };
    } catch (cause) {
      if (signal?.aborted) throw new APIUserAbortError("The call was aborted.", { cause });
      if (isLate) throw new APITimeoutError(`No answer within ${limit} ms.`, { cause });
      throw new APIConnectionError(`No connection to ${new URL(url).origin}: ${reasonOf(cause)}`, { cause });
    } finally {
      clearTimeout(timer);
      if (!isLeftOpen) signal?.removeEventListener("abort", abort);
    }
  }
}

interface Attempt {
  url: string;
  init: RequestInit;
  raw: boolean;
  options: RequestOptions;
  limit: number;
}

interface Attempted {
  response: Response;
  bytes?: ArrayBuffer;
}

/** Checked for each call, since each may have its own. */
export function checkedBounds<B extends { timeout: number; maxRetries: number }>(bounds: B): B {
  const { timeout, maxRetries } = bounds;
  if (!(timeout > 0))
    throw new OutriderError(`timeout must be a number of milliseconds above 0, not ${timeout}.`);
  if (!(maxRetries >= 0)) throw new OutriderError(`maxRetries must be a number from 0, not ${maxRetries}.`);
  return bounds;
}

function lowered(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** What fetch hides one level down is what a reader needs: refused, reset, unknown host. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { message?: string; code?: string } };
  const reason = cause?.message || cause?.code || message || String(error);
  return isDistrust.test(cause?.code ?? "") ? `${reason}. ${trustRemedy}` : reason;
}

/** What Node says of a certificate that it does not take. */
const isDistrust =
  /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|CERT_|ERR_TLS_CERT_ALTNAME_INVALID)/;
const trustRemedy =
  "The server's certificate is not trusted: start this program with NODE_EXTRA_CA_CERTS=FILE, a file with the certificate or its authority's, and use a name that it is for.";

function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
