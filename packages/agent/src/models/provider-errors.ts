/**
 * Classifies model call errors as transient (retry the call), overflow (shorten the conversation) or fatal (end the
 * turn). Providers report errors in different ways: as an HTTP status with a JSON body, as an error inside a stream
 * that started with 200, or only in the message. All of them are first normalized to an ErrorReport.
 */

import {
  APICallError,
  EmptyResponseBodyError,
  InvalidResponseDataError,
  JSONParseError,
  StreamProviderError,
  TypeValidationError,
} from "ai";
import { Failure, messageOf } from "../failure.ts";
import { parseRetryAfter } from "./retry-after.ts";

export type ProviderError =
  | { type: "transient"; reason: string; isRateLimit: boolean; retryAfterMs?: number | undefined }
  | { type: "overflow"; reason: string }
  | { type: "fatal"; failure: Failure };

/** The maximum length of a quoted provider message. */
const MAX_REASON_CHARACTERS = 500;
const MAX_CAUSES = 5;

/** Phrases that providers use to report that the conversation is too long for the model. */
const overflowPhrases = [
  "prompt is too long",
  "exceed context limit",
  "context_length_exceeded",
  "maximum context length",
  "exceeds the context window",
  "exceeds the maximum number of tokens",
  "longer than the maximum model length",
  "exceeds the available context size",
  "exceed_context_size",
  "exceeded max context length",
  "exceeds the context length",
  "greater than the context length",
  "context size has been exceeded",
  "maximum prompt length",
  "input is too long",
  "reduce the length of the messages",
  "request_too_large",
];

const invalidKeyPhrases = ["api key not valid", "api_key_invalid", "invalid api key", "incorrect api key"];

/** Thrown when a response is incomplete or cannot be parsed. */
export class MalformedResponseError extends Error {}

/** A provider's error, independent of how it was delivered. */
interface ErrorReport {
  message: string;
  status: number | undefined;
  /** The complete text of the error in lower case, for phrase matching. */
  searchText: string;
  /** The provider's error types and codes. */
  kind: string;
  retryAfterMs: number | undefined;
}

export function classifyError(error: unknown, model: string): ProviderError {
  const failure = findFailure(error);
  if (failure) return fatal(failure);
  if (isMalformedResponse(error)) return transient(`incomplete response: ${truncate(messageOf(error))}`);
  const report = reportOf(error);
  if (!report)
    return fatal(new Failure("model_error", truncate(messageOf(error)) || "The model call failed."));
  return classifyReport(report, model);
}

/** Classifies an error response to a request that was not made with the AI SDK. */
export function classifyResponse(
  { status, headers, body }: { status: number; headers: Record<string, string>; body: string },
  model: string,
): ProviderError {
  const data = parseJson(body);
  const message = truncate(messageIn(data) ?? body);
  const searchText = body.toLowerCase();
  const retryAfterMs = parseRetryAfter(headers, body);
  return classifyReport({ status, message, searchText, kind: kindOf(data), retryAfterMs }, model);
}

/** Classifies the rejection of a `fetch`. Unless it is our own error, the connection failed. */
export function classifyFetchError(error: unknown): ProviderError {
  const failure = findFailure(error);
  if (failure) return fatal(failure);
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return transient(`cannot connect to the provider: ${truncate(messageOf(cause))}`);
}

function classifyReport(report: ErrorReport, model: string): ProviderError {
  const { status, searchText } = report;
  if (status !== 429 && overflowPhrases.some((phrase) => searchText.includes(phrase))) {
    return { type: "overflow", reason: report.message };
  }
  if (status === 413) return { type: "overflow", reason: report.message };
  return (
    permanentError(report, model) ??
    transientError(report) ??
    fatal(
      new Failure("model_request_rejected", `The model provider rejected the request: ${reasonOf(report)}`),
    )
  );
}

/** Returns what a provider reported, for a caller that neither retries nor ends a turn. */
export function describeCallError(
  error: unknown,
): { status: number | undefined; kind: string; message: string } | undefined {
  const report = reportOf(error);
  if (!report) return undefined;
  const isKeyError = invalidKeyPhrases.some((phrase) => report.searchText.includes(phrase));
  return {
    status: isKeyError ? 401 : report.status,
    kind: `${report.kind} ${report.searchText}`,
    message: report.message,
  };
}

/** Finds our own error, because the AI SDK wraps errors that occur while it reads a response. */
function findFailure(error: unknown): Failure | undefined {
  for (let cause = error, depth = 0; cause instanceof Error && depth < MAX_CAUSES; depth++) {
    if (cause instanceof Failure) return cause;
    cause = cause.cause;
  }
  return undefined;
}

/** Recognizes errors that persist until the configuration or the provider account changes. */
function permanentError(
  { status, searchText, kind, message }: ErrorReport,
  model: string,
): ProviderError | undefined {
  if (status === 401 || status === 403 || invalidKeyPhrases.some((phrase) => searchText.includes(phrase))) {
    const text = `The provider of ${model} rejected Outrider's API key${status ? ` (${status})` : ""}. The operator must set api_key for this provider in Outrider's model configuration.`;
    return fatal(new Failure("model_not_available", text));
  }
  if (status === 404 || kind.includes("not_found")) {
    const text = `The provider does not know ${model}: ${message} Choose one from GET /agent/models, or check the name and base_url in Outrider's model configuration.`;
    return fatal(new Failure("model_not_available", text));
  }
  if (kind.includes("insufficient_quota")) {
    const text = `The provider account has no quota left: ${message}`;
    return fatal(new Failure("model_request_rejected", text));
  }
  return undefined;
}

/** Recognizes errors that may disappear on their own. */
function transientError(report: ErrorReport): ProviderError | undefined {
  const { status, kind, retryAfterMs } = report;
  const isRateLimit = status === 429 || kind.includes("rate_limit") || kind.includes("resource_exhausted");
  const isInvalidRequest = kind.includes("invalid_request") || kind.includes("invalid_argument");
  const isRetryable =
    status === undefined || status < 300
      ? !isInvalidRequest
      : status >= 500 || [408, 409, 425].includes(status);
  if (!isRateLimit && !isRetryable) return undefined;
  return { type: "transient", reason: reasonOf(report), isRateLimit, retryAfterMs };
}

function isMalformedResponse(error: unknown): boolean {
  return (
    error instanceof MalformedResponseError ||
    JSONParseError.isInstance(error) ||
    TypeValidationError.isInstance(error) ||
    InvalidResponseDataError.isInstance(error) ||
    EmptyResponseBodyError.isInstance(error) ||
    // The AI SDK uses this message if it cannot parse the first part of an Anthropic stream.
    messageOf(error).startsWith("Expected a normalized")
  );
}

/** Normalizes an error. Returns undefined if the cause is a bug in Outrider or the AI SDK, not the provider. */
function reportOf(error: unknown): ErrorReport | undefined {
  if (APICallError.isInstance(error)) {
    const { statusCode: status, responseBody = "", responseHeaders = {}, message } = error;
    return {
      status,
      searchText: `${message} ${responseBody}`.toLowerCase(),
      kind: kindOf(error.data) || kindOf(parseJson(responseBody)),
      message: truncate(message || responseBody),
      retryAfterMs: parseRetryAfter(responseHeaders, responseBody),
    };
  }
  if (error instanceof Error && !StreamProviderError.isInstance(error)) return undefined;
  // An error inside a stream can have any shape, because providers send different objects.
  const { message, statusCode, data } = (typeof error === "object" && error !== null ? error : {}) as {
    message?: unknown;
    statusCode?: unknown;
    data?: unknown;
  };
  const text =
    typeof message === "string" ? message : typeof error === "string" ? error : JSON.stringify(error);
  const kind = `${kindOf(error)} ${kindOf(data)}`;
  return {
    message: truncate(text ?? "an error without a message"),
    status: typeof statusCode === "number" ? statusCode : undefined,
    searchText: `${text} ${kind}`.toLowerCase(),
    kind,
    retryAfterMs: undefined,
  };
}

function kindOf(data: unknown): string {
  const fields = data as
    | { error?: unknown; type?: unknown; code?: unknown; status?: unknown }
    | null
    | undefined;
  if (typeof fields !== "object" || fields === null) return "";
  const inner = typeof fields.error === "object" && fields.error !== null ? kindOf(fields.error) : "";
  return [inner, fields.type, fields.code, fields.status]
    .filter((name) => typeof name === "string")
    .join(" ")
    .toLowerCase();
}

/** Returns the message of an error in a JSON response, wherever the provider puts it. */
function messageIn(data: unknown): string | undefined {
  const { error, message } = (typeof data === "object" && data !== null ? data : {}) as Record<
    string,
    unknown
  >;
  const inner = typeof error === "object" && error !== null ? messageIn(error) : error;
  return [inner, message].find((text) => typeof text === "string" && text !== "") as string | undefined;
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function reasonOf({ status, message }: ErrorReport): string {
  return status === undefined || status < 300 ? message : `${status} ${message}`.trim();
}

function transient(reason: string): ProviderError {
  return { type: "transient", reason, isRateLimit: false };
}

function fatal(failure: Failure): ProviderError {
  return { type: "fatal", failure };
}

function truncate(text: string): string {
  return text.length <= MAX_REASON_CHARACTERS ? text : `${text.slice(0, MAX_REASON_CHARACTERS)}…`;
}
