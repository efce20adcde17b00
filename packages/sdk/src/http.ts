import { buildUrl, type Query } from "./address.ts";
import {
  APIConnectionError,
  type APIError,
  APITimeoutError,
  APIUserAbortError,
  OutriderError,
  statusError,
} from "./errors.ts";
import { type Logger, withoutSecrets } from "./log.ts";
import { type ApiResponse, ResponsePromise } from "./promise.ts";
import { accepted, decode, type Reading, read } from "./reading.ts";
import { after, retryDelay, shouldRetry, sleep } from "./retry.ts";

/** Additional options for `fetch`, such as a dispatcher, credentials or cache mode. */
export type FetchOptions = Omit<RequestInit, "method" | "headers" | "body" | "signal">;

/** Options for one call. */
export interface RequestOptions {
  /** Timeout for one attempt, including the response body, in milliseconds. */
  timeout?: number;
  /** Maximum number of retries. */
  maxRetries?: number;
  /** Additional headers. An empty value removes a header. */
  headers?: Record<string, string>;
  /** Additional query parameters. */
  query?: Query;
  /** Aborts the call with APIUserAbortError. */
  signal?: AbortSignal;
  /** Replaces the idempotency key that the client generates for every POST request. */
  idempotencyKey?: string;
  /** Additional options for `fetch`. */
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

/** Sends requests, with retries and a timeout for each attempt. */
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

  async perform<T>(call: Call, options: RequestOptions, raw: boolean): Promise<ApiResponse<T>> {
    const { baseURL, log } = this.#settings;
    const { timeout, maxRetries } = validateBounds({
      timeout: options.timeout ?? this.#settings.timeout,
      maxRetries: options.maxRetries ?? this.#settings.maxRetries,
    });
    const { reading = "json" } = call;
    const url = buildUrl(baseURL, call.path, { ...call.query, ...options.query });
    const init = this.#init(call, options);
    const name = `${call.method} ${call.path.split("?")[0]}`;
    log.debug(`${name} started`, { headers: withoutSecrets(init.headers as Record<string, string>) });

    for (let attempt = 1; ; attempt++) {
      const startedAt = Date.now();
      let failure: APIError;
      let wait: number;
      try {
        const { response, bytes } = await this.#attempt({ url, init, raw, options, limit: timeout });
        log.debug(`${name} returned ${response.status}`, { attempt, ms: Date.now() - startedAt });
        if (response.ok) return bytes ? { response, data: read<T>(response, bytes, reading) } : { response };
        failure = statusError(response.status, response.headers, decode(bytes));
        if (attempt > maxRetries || !shouldRetry(response)) throw failure;
        wait = retryDelay(attempt, response.headers);
      } catch (error) {
        if (!(error instanceof APIConnectionError) || attempt > maxRetries) throw error;
        failure = error;
        wait = retryDelay(attempt);
      }
      log.info(`retrying ${name}`, { attempt, in_ms: Math.round(wait), reason: failure.message });
      await sleep(wait, options.signal);
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
      ...lowercaseNames(headers),
      ...lowercaseNames(options.headers ?? {}),
    };
    return {
      ...fetchOptions,
      ...options.fetchOptions,
      method,
      headers: Object.fromEntries(Object.entries(all).filter(([, value]) => value !== "")),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
  }

  async #attempt({ url, init, raw, options: { signal }, limit }: Attempt): Promise<AttemptResult> {
    if (signal?.aborted) throw new APIUserAbortError("The call was aborted.");
    const controller = new AbortController();
    const abort = () => controller.abort();
    signal?.addEventListener("abort", abort);
    let isTimedOut = false;
    const timer = after(limit, () => {
      isTimedOut = true;
      abort();
    });
    let isLeftOpen = false;
    try {
      const response = await this.#settings.fetch(url, { ...init, signal: controller.signal });
      isLeftOpen = raw && response.ok;
      return isLeftOpen ? { response } : { response, bytes: await response.arrayBuffer() };
    } catch (cause) {
      if (signal?.aborted) throw new APIUserAbortError("The call was aborted.", { cause });
      if (isTimedOut) throw new APITimeoutError(`No response within ${limit} ms.`, { cause });
      throw new APIConnectionError(`Cannot connect to ${new URL(url).origin}: ${reasonOf(cause)}`, { cause });
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

interface AttemptResult {
  response: Response;
  bytes?: ArrayBuffer;
}

/** Validates the timeout and the maximum number of retries. */
export function validateBounds<B extends { timeout: number; maxRetries: number }>(bounds: B): B {
  const { timeout, maxRetries } = bounds;
  if (!(timeout > 0)) throw new OutriderError(`timeout must be greater than 0 milliseconds, not ${timeout}.`);
  if (!(maxRetries >= 0)) throw new OutriderError(`maxRetries must be 0 or greater, not ${maxRetries}.`);
  return bounds;
}

function lowercaseNames(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** Returns why a fetch failed. The reason, such as an unknown host, is in the error's cause. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { message?: string; code?: string } };
  const reason = cause?.message || cause?.code || message || String(error);
  return untrustedCodes.test(cause?.code ?? "") ? `${reason}. ${trustRemedy}` : reason;
}

/** Node's error codes for untrusted certificates. */
const untrustedCodes =
  /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|CERT_|ERR_TLS_CERT_ALTNAME_INVALID)/;
const trustRemedy =
  "The server certificate is not trusted. Set NODE_EXTRA_CA_CERTS to a file with the certificate or its CA, and use a host name from the certificate.";

function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
