/**
 * Makes the calls of one model: adds the provider's key, and repeats a call that fails with a transient error before the
 * first byte of its response. The retry policy is that of the agent loop (see agent/src/models).
 *
 * A call that fails rejects with an UpstreamError, which contains what the agent may see, and no key.
 */
import type { ReadableStreamReadResult } from "node:stream/web";
import { setTimeout as sleep } from "node:timers/promises";
import { IdleTimer } from "@outrider/agent/models/idle-timer";
import {
  classifyError,
  classifyFetchError,
  classifyResponse,
  MalformedResponseError,
} from "@outrider/agent/models/provider-errors";
import { type Endpoint, openEndpoint } from "@outrider/agent/models/providers/endpoint";
import { defaultRetryPolicy, type RetryPolicy, retryDelay } from "@outrider/agent/models/retry-policy";
import type { AssignedModel } from "@outrider/contract/worker";
import { modelDispatcher } from "../egress/model-network.ts";
import { EventReader } from "./event-reader.ts";
import type { ModelSource, SourceRequest, SourceResponse } from "./model-source.ts";
import { createSendPost } from "./send-post.ts";
import { exhaustedError, type FailedAttempt, permanentError } from "./upstream-error.ts";

/** What agents may learn from a provider's response besides its body. */
const passedHeaders = ["content-type", "request-id", "x-request-id"];
/** Shorter values of headers may be common words. */
const MIN_SECRET_CHARACTERS = 8;

export class Upstream implements ModelSource {
  readonly #model: AssignedModel;
  readonly #policy: RetryPolicy;
  #endpoint: Endpoint | undefined;

  constructor(model: AssignedModel, policy: RetryPolicy = defaultRetryPolicy) {
    this.#model = model;
    this.#policy = policy;
  }

  async call(request: SourceRequest): Promise<SourceResponse> {
    const { signal, format } = request;
    const policy = this.#policy;
    const startedAt = performance.now();
    for (let attempt = 1; ; attempt += 1) {
      const result = await this.#attempt(request);
      if (!("error" in result)) return result;
      signal.throwIfAborted();
      const { error } = result;
      if (error.type !== "transient") throw permanentError(format, result);
      const delay_ms = retryDelay(attempt, policy, error.retryAfterMs);
      const isTooLate = performance.now() - startedAt + delay_ms > policy.totalMs;
      if (attempt >= policy.maxAttempts || isTooLate) throw exhaustedError(format, error, attempt);
      await request.onRetry({ attempt, reason: error.reason, delay_ms });
      await sleep(delay_ms, undefined, { signal });
    }
  }

  async #attempt(request: SourceRequest): Promise<SourceResponse | FailedAttempt> {
    const { firstMs } = this.#policy;
    const timeout = new AbortController();
    const timer = new IdleTimer((ms) =>
      timeout.abort(new MalformedResponseError(`no data received for ${ms / 1000} s`)),
    );
    timer.start(firstMs);
    try {
      const result = await this.#send(request, AbortSignal.any([request.signal, timeout.signal]));
      if ("error" in result) {
        timer.stop();
        return result;
      }
      const { reader, first, headers } = result;
      // A model that reasons can be silent for as long as it may take to begin.
      return {
        status: 200,
        headers,
        body: readBody(
          reader,
          first,
          () => timer.start(firstMs),
          () => timer.stop(),
        ),
      };
    } catch (error) {
      timer.stop();
      const cause = timeout.signal.aborted ? timeout.signal.reason : error;
      const isMalformed = cause instanceof MalformedResponseError;
      return { error: isMalformed ? classifyError(cause, this.#model.model_id) : classifyFetchError(cause) };
    }
  }

  /** Sends the request and waits for the first byte of the response. */
  async #send({ path, headers, json }: SourceRequest, signal: AbortSignal) {
    this.#endpoint ??= openEndpoint(this.#model, { send: createSendPost(modelDispatcher(this.#model)) });
    const { baseUrl, fetch, authorize } = this.#endpoint;
    const authorization = await authorize(signal);
    if (authorization instanceof Response) return this.#readError(authorization, {});
    const response = await fetch(baseUrl + path, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json", ...authorization },
      body: json,
      signal,
    });
    if (!response.ok) return this.#readError(response, authorization);
    const reader = (response.body ?? new Response("").body)?.getReader() as Reader;
    const first = await reader.read();
    if (first.done) throw new MalformedResponseError("the response is empty");
    const error = errorIn(first.value);
    if (error === undefined) return { headers: pickHeaders(response.headers), reader, first };
    await reader.cancel().catch(() => {});
    const failed: FailedAttempt = { error: classifyError(error, this.#model.model_id) };
    return failed;
  }

  async #readError(response: Response, authorization: Record<string, string>): Promise<FailedAttempt> {
    const { status } = response;
    const secrets = Object.values(authorization).flatMap((value) => [value, value.replace(/^Bearer /, "")]);
    const body = secrets
      .filter(({ length }) => length >= MIN_SECRET_CHARACTERS)
      .reduce((text, secret) => text.replaceAll(secret, "[key]"), await response.text());
    const headers = Object.fromEntries(response.headers);
    return {
      error: classifyResponse({ status, headers, body }, this.#model.model_id),
      response: { status, body },
    };
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

async function* readBody(
  reader: Reader,
  first: ReadableStreamReadResult<Uint8Array>,
  startTimer: () => void,
  stopTimer: () => void,
): AsyncGenerator<Uint8Array> {
  try {
    for (let next = first; !next.done; next = await reader.read()) {
      // The time that the agent takes to read does not count.
      stopTimer();
      yield next.value;
      startTimer();
    }
  } finally {
    stopTimer();
    await reader.cancel().catch(() => {});
  }
}

/** Returns the error of a stream that starts with one. Providers report overload in this way. */
function errorIn(chunk: Uint8Array): unknown {
  const [event] = new EventReader().push(chunk);
  const isError = event !== undefined && (event.type === "error" || (event.error ?? null) !== null);
  return isError ? (event.error ?? event) : undefined;
}

function pickHeaders(headers: Headers): Record<string, string> {
  return Object.fromEntries(
    passedHeaders.flatMap((name) => {
      const value = headers.get(name);
      return value === null ? [] : [[name, value]];
    }),
  );
}
