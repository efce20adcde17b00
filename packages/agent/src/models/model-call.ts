/**
 * Makes one model call, with retries.
 *
 * `callModel` sends a request, reads the streamed response through a ResponseReader and returns exactly one result: a
 * complete response, "aborted", "overflow" (the conversation is too long for the model) or "failed". It runs no tools
 * and makes no further calls; the turn does that.
 *
 * An attempt that fails with a transient error (see provider-errors.ts) is retried with backoff, until the retry policy
 * is exhausted. Before each retry, `onRetry` runs to completion, so that the caller can discard the streamed text.
 *
 * Invariants:
 * - `callModel` throws only the errors that `onRetry` throws.
 * - Aborting the signal takes effect at once, even if the provider does not react to it.
 * - An attempt cannot hang: a timer aborts it if the stream delivers nothing for too long.
 * - `delta` is never called after an attempt is over.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { type CallResult, inModelSpan } from "@outrider/telemetry/gen-ai";
import type { LanguageModelUsage } from "ai";
import { Failure } from "../failure.ts";
import { LinkedSignal } from "../linked-signal.ts";
import { IdleTimer } from "./idle-timer.ts";
import { classifyError, MalformedResponseError, type ProviderError } from "./provider-errors.ts";
import { type ModelRequest, type ModelResponse, ResponseReader } from "./response-reader.ts";
import { defaultRetryPolicy, type RetryPolicy, retryDelay } from "./retry-policy.ts";

export type { ToolCall } from "./parse-call.ts";
export type { ModelResponse } from "./response-reader.ts";

/** A failed attempt that will be retried. */
export interface Retry {
  /** The number of attempts so far. */
  attempt: number;
  reason: string;
  delay_ms: number;
  /** The attempt's usage, if known. */
  usage: LanguageModelUsage | undefined;
}

export interface ModelCall extends ModelRequest {
  /** Called before each retry and awaited. All text that the failed attempt passed to `delta` must be discarded. */
  onRetry?(retry: Retry): void | Promise<void>;
  retryPolicy?: RetryPolicy;
}

export type ModelResult =
  | ModelResponse
  /** `usage` is absent if the provider had not reported any. */
  | { type: "aborted"; usage?: LanguageModelUsage | undefined }
  /** The conversation is too long for the model. */
  | { type: "overflow"; reason: string }
  | { type: "failed"; error: Failure; usage: LanguageModelUsage | undefined };

export function callModel(call: ModelCall): Promise<ModelResult> {
  const { provider, modelId: model } = call.model;
  return inModelSpan({ provider, model }, toCallResult, () => callWithRetries(call));
}

function toCallResult(result: ModelResult): CallResult {
  const usage = result.type === "overflow" ? undefined : result.usage;
  const tokens = {
    input: usage?.inputTokens ?? 0,
    cacheRead: usage?.inputTokenDetails.cacheReadTokens ?? 0,
    cacheWrite: usage?.inputTokenDetails.cacheWriteTokens ?? 0,
    output: usage?.outputTokens ?? 0,
  };
  if (result.type === "response") {
    const finishReason = result.isTruncated ? "length" : result.calls.length > 0 ? "tool_calls" : "stop";
    return { tokens, finishReason };
  }
  return { tokens, error: result.type === "failed" ? result.error.code : result.type };
}

async function callWithRetries(call: ModelCall): Promise<ModelResult> {
  const { signal, retryPolicy = defaultRetryPolicy } = call;
  const startedAt = performance.now();
  for (let attempt = 1; ; attempt += 1) {
    const { result, usage } = await attemptCall(call, retryPolicy);
    if (signal.aborted) return { type: "aborted", ...(usage ? { usage } : {}) };
    if (result.type === "response" || result.type === "overflow") return result;
    if (result.type === "fatal") return { type: "failed", error: result.failure, usage };
    const delay_ms = retryDelay(attempt, retryPolicy, result.retryAfterMs);
    const isTooLate = performance.now() - startedAt + delay_ms > retryPolicy.totalMs;
    if (attempt >= retryPolicy.maxAttempts || isTooLate) {
      return { type: "failed", error: retriesExhausted(result, attempt), usage };
    }
    await call.onRetry?.({ attempt, reason: result.reason, delay_ms, usage });
    await sleep(delay_ms, undefined, { signal }).catch(() => {});
    if (signal.aborted) return { type: "aborted" };
  }
}

/** The reason for closing the connection of an attempt that is over. Creating one per attempt takes time. */
const attemptIsOver = new Error("The attempt is over.");

/** The time that a failed attempt has to report its usage. */
const USAGE_WAIT_MS = 500;

interface AttemptResult {
  result: ModelResponse | ProviderError;
  usage: LanguageModelUsage | undefined;
}

async function attemptCall(call: ModelCall, { firstMs, idleMs }: RetryPolicy): Promise<AttemptResult> {
  using attempt = new LinkedSignal(call.signal);
  const { signal } = attempt;
  let idleError: MalformedResponseError | undefined;
  const delta = (text: string) => {
    if (!signal.aborted) call.delta(text);
  };
  const reader = new ResponseReader({ ...call, signal, delta });
  const timer = new IdleTimer((ms) => {
    idleError = new MalformedResponseError(`no data received for ${ms / 1000} s`);
    attempt.abort(idleError);
  });
  timer.start(firstMs);
  try {
    const aborted = rejectOnAbort(signal);
    let isFailing = false;
    const response = reader.read(() => {
      // The time is not extended by further parts, because a stream of errors may never end.
      if (!isFailing)
        timer.start(reader.error !== undefined ? USAGE_WAIT_MS : reader.isReasoning ? firstMs : idleMs);
      isFailing = reader.error !== undefined;
    });
    return { result: await Promise.race([response, aborted]), usage: reader.usage };
  } catch (error) {
    const cause = reader.error ?? idleError ?? error;
    return { result: classifyError(cause, call.model.modelId), usage: reader.knownUsage };
  } finally {
    timer.stop();
    // Closes the connection if the provider is still sending.
    attempt.abort(attemptIsOver);
  }
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  const rejected = new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  // Without this handler, the rejection would be unhandled if the response arrives first.
  rejected.catch(() => {});
  return rejected;
}

/** Returns the failure of a call whose last attempt failed with this error. */
export function retriesExhausted(
  { reason, isRateLimit }: ProviderError & { type: "transient" },
  attempts: number,
): Failure {
  const code = isRateLimit ? "model_rate_limited" : "model_error";
  const count = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
  return new Failure(code, `The model call failed after ${count}: ${reason}`);
}
